#pragma once

#include <gloo/transport/buffer.h>
#include <gloo/transport/context.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

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
  /// The contexts of two pairs, guarded_context.h; every rank then listens, connects both sides and greets.
  Ring(std::shared_ptr<gloo::transport::Context> sender, std::shared_ptr<gloo::transport::Context> receiver,
       std::chrono::milliseconds timeout);
  /// What was sent still reaches the neighbour.
  ~Ring();

  void listen();
  /// Gloo's addresses of this rank's ends.
  std::vector<char> sender_address() const { return next_->address().bytes(); }
  std::vector<char> receiver_address() const { return previous_->address().bytes(); }
  /// To the receiver of the next rank, and to the sender of the previous one. Gloo's wait has no end that one
  /// would notice but call_off.
  void connect_next(const std::vector<char>& address);
  void connect_previous(const std::vector<char>& address);
  /// A first message to the next rank, and that of the previous one.
  void greet();
  /// From any thread: ends both connections, and with them every wait; the object can then only be destroyed.
  void call_off() noexcept;

  void post_receive(int lane, std::span<std::byte> buffer);
  void wait_received(int lane);
  void post_send(int lane, std::span<const std::byte> message);
  void wait_sent(int lane);

 private:
  using Buffer = gloo::transport::Buffer;

  // A connection of Gloo's under a descriptor of our own, since Gloo may close its own at any time.
  class Socket {
   public:
    Socket() = default;
    explicit Socket(gloo::transport::Pair& pair);
    Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
      std::swap(number_, other.number_);
      return *this;
    }
    ~Socket();
    explicit operator bool() const { return number_ >= 0; }
    void shut_down() const noexcept;

   private:
    int number_ = -1;
  };

  void connect(gloo::transport::Pair& pair, const std::vector<char>& address, Socket& socket);

  std::shared_ptr<gloo::transport::Context> sender_, receiver_;  // one each: both neighbours may be one rank
  gloo::transport::Pair* next_ = nullptr;
  gloo::transport::Pair* previous_ = nullptr;
  std::map<int, std::unique_ptr<Buffer>> sending_, receiving_;  // [lane]
  std::mutex mutex_;                                            // guards what follows
  Socket next_socket_, previous_socket_;                        // once they are connected
  bool called_off_ = false;
};

}  // namespace cerar::runtime
