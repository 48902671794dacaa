#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/comm/call.h"
#include "runtime/gpu/resources.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// Messages between ring neighbours in device memory, in the order of streams: each rank sends to rank + 1
/// and receives from rank - 1. The host waits for no message; what it enqueues waits for it. One thread per
/// rank calls everything but `failure` and `abort`, which any thread may.
class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const DeviceHandle& device() const = 0;

  /// Called by every rank before calls of a new shape: the descriptions of all ranks, [rank]. Waits for them
  /// and throws `timeout` where they do not come. Connections that `pass` needs are made here. `behind`: what
  /// is enqueued comes after what that stream holds, and the time until then does not count.
  virtual std::vector<CallDescription> exchange(const CallDescription& mine,
                                                std::optional<CuStream> behind) = 0;

  /// Memory of the device for messages of `pass`, aligned to 256 bytes. It is the transport's, which frees it
  /// when it has ended.
  virtual CuAddress message_memory(std::uint64_t bytes) = 0;

  /// Whether `pass` may be captured into a graph.
  virtual bool can_be_captured() const = 0;

  /// Enqueues one round of a lane on `stream`: `bytes` bytes from `message` to the next rank, as many from
  /// the previous one to `received`. What is enqueued there later finds both done.
  virtual void pass(int lane, CuStream stream, CuAddress message, CuAddress received,
                    std::uint64_t bytes) = 0;

  /// The library's own all-reduce of a vector, the baseline of plans, where it has one.
  virtual bool has_all_reduce() const { return false; }
  virtual void all_reduce(CuAddress /*send*/, CuAddress /*receive*/, std::uint64_t /*count*/, DataType,
                          bool /*averages*/, CuStream) {
    throw Error(ErrorCode::internal, "this transport has no all-reduce of its own.");
  }

  /// What the first such call of this shape sets up: connections, which no capture may make. Every rank
  /// calls.
  virtual void prepare_all_reduce(std::uint64_t /*count*/, DataType, bool /*averages*/) {}

  /// What went wrong since, on any rank, if something did.
  virtual std::optional<Error> failure() = 0;

  /// Makes what is enqueued end, and later calls of all ranks fail with `reason` where they can be told.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace cerar::runtime
