#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/call.h"

namespace cerar::runtime {

/// Where ranks that are threads of one process show each other their calls before data moves. All of them
/// share one; any thread may call anything. What went wrong first is every rank's failure.
class CallExchange {
 public:
  CallExchange(int ranks, std::chrono::milliseconds timeout);

  int ranks() const { return static_cast<int>(calls_.size()); }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// The descriptions of all ranks, [rank]. Throws `peer_failed` with the failure; and `timeout`, which names
  /// the ranks that did not come, and is no failure until the caller says so.
  std::vector<CallDescription> exchange(int rank, const CallDescription& mine);

  /// Ends every exchange, those that wait included, with this failure; the first one counts.
  void fail(const std::string& reason) noexcept;

  std::optional<std::string> failure();

  /// Throws `peer_failed` with the failure.
  [[noreturn]] void throw_failure();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<CallDescription>> calls_;
  int arrived_ = 0, left_ = 0;
  std::optional<std::string> failure_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace cerar::runtime
