#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/gpu/resources.h"
#include "runtime/gpu/transport.h"

namespace cerar::runtime {

/// Watches over what was enqueued, since nobody waits for it: a thread asks the transport for failures, and
/// the device how far calls are. A call's clock starts when it has begun on its stream and the call before it
/// has ended. One that does not end within the timeout fails the communicator: what is enqueued ends, with
/// garbage for results, and the first reason is kept.
class Watchdog {
 public:
  /// Events of one call under way. Recorded by the caller on the call's stream, before and after the call.
  struct Call {
    DeviceEvent started, finished;
    std::uint64_t call_index = 0;
    enum class State { free, taken, under_way } state = State::free;
    /// When its clock started; of the watch's thread while the call is under way.
    std::optional<std::chrono::steady_clock::time_point> since;
  };

  /// At most so many calls under way are watched; later ones fail only where the transport says so.
  static constexpr std::size_t kMostCalls = 64;

  /// `plan` names the plan in sentences. The transport must outlive the watch.
  Watchdog(DeviceHandle device, DeviceTransport& transport, std::chrono::milliseconds timeout,
           std::string plan);
  ~Watchdog();

  /// Null when all are taken. Give it back with `under_way` or `drop`.
  Call* take(std::uint64_t call_index);
  void under_way(Call* call);
  void drop(Call* call);

  std::optional<Error> failure() const;
  /// The first failure is kept; the watch's thread tells the transport to give up. Not the caller's: NCCL's
  /// abort waits for graphs to be destroyed.
  void fail(const Error& error);

  /// Waits until no call is under way, at most for the timeout of each.
  void drain();
  /// Ends the watch; a failure has been told to the transport then.
  void stop();

 private:
  void run(const std::stop_token& stop);
  std::optional<Error> look();
  std::vector<Call*> calls_under_way();  // in order

  DeviceHandle device_;
  DeviceTransport& transport_;
  const std::chrono::milliseconds timeout_;
  const std::string plan_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::array<Call, kMostCalls> calls_;
  std::optional<Error> failure_;

  std::jthread thread_;
};

}  // namespace cerar::runtime
