#pragma once

#include <gloo/rendezvous/store.h>
#include <gloo/transport/buffer.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>

namespace cerar::runtime {

/// The two connections that carry the data: one to the next rank of the ring, one from the previous. They
/// carry nothing else, so that a message costs neither notices of its own, as Gloo's unbound buffers need,
/// nor a change of threads: the caller's thread reads what has come straight into its buffer, and TCP's
/// window keeps the neighbour from sending too far ahead. Messages longer than the socket takes at once are
/// written on by Gloo's thread.
///
/// Messages are received in the order in which the neighbour sends them, over all lanes. Functions throw
/// Gloo's exceptions when a connection is lost or `timeout` passes without a byte; then the object can only
/// be destroyed.
class Ring {
 public:
  /// Connects. Every rank calls it, with the same keys to itself in `keys`.
  Ring(gloo::transport::Device& device, gloo::rendezvous::Store& keys, int rank, int ranks,
       std::chrono::milliseconds timeout);
  /// What was sent still reaches the neighbour.
  ~Ring();

  void post_receive(int lane, std::span<std::byte> buffer);
  void wait_received(int lane);
  void post_send(int lane, std::span<const std::byte> message);
  void wait_sent(int lane);

 private:
  using Buffer = gloo::transport::Buffer;

  void greet();

  std::shared_ptr<gloo::transport::Context> sender_, receiver_;  // one each: both neighbours may be one rank
  gloo::transport::Pair* next_ = nullptr;
  gloo::transport::Pair* previous_ = nullptr;
  std::map<int, std::unique_ptr<Buffer>> sending_, receiving_;  // [lane]
};

}  // namespace cerar::runtime
