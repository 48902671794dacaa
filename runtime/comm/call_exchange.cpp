#include "runtime/comm/call_exchange.h"

#include <fmt/format.h>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"

namespace cerar::runtime {

CallExchange::CallExchange(int ranks, std::chrono::milliseconds timeout) : calls_(ranks), timeout_(timeout) {}

std::vector<CallDescription> CallExchange::exchange(int rank, const CallDescription& mine) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  // The descriptions of the call before are cleared by the last rank that leaves it.
  if (!changed_.wait_until(lock, deadline, [&] { return failure_ || left_ == 0; }))
    throw Error(ErrorCode::timeout,
                with_timeout_advice(fmt::format(
                    "rank {} waited {} ms for other ranks to leave the call before all-reduce number {}.",
                    rank, timeout_.count(), mine.call_index)));
  calls_[rank] = mine;
  if (++arrived_ == ranks()) {
    left_ = ranks();
    changed_.notify_all();
  }
  if (!changed_.wait_until(lock, deadline, [&] { return failure_ || left_ > 0; })) {
    std::vector<int> missing;
    for (int other = 0; other < ranks(); ++other)
      if (!calls_[other]) missing.push_back(other);
    throw Error(ErrorCode::timeout, with_timeout_advice(not_called(mine, missing, timeout_)));
  }
  if (failure_) throw Error(ErrorCode::peer_failed, *failure_);
  std::vector<CallDescription> calls;
  for (const auto& entry : calls_) calls.push_back(*entry);
  if (--left_ == 0) {
    arrived_ = 0;
    for (auto& entry : calls_) entry.reset();
    changed_.notify_all();
  }
  return calls;
}

void CallExchange::fail(const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = reason;
  }
  changed_.notify_all();
}

std::optional<std::string> CallExchange::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void CallExchange::throw_failure() {
  throw Error(ErrorCode::peer_failed, failure().value_or("the communicator failed"));
}

}  // namespace cerar::runtime
