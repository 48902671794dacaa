#include "runtime/gpu/executor/watchdog.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/environment.h"
#include "runtime/base/thread.h"

namespace cerar::runtime {

using Clock = std::chrono::steady_clock;

Watchdog::Watchdog(DeviceHandle device, DeviceTransport& transport, std::chrono::milliseconds timeout,
                   std::string plan)
    : device_(std::move(device)), transport_(transport), timeout_(timeout), plan_(std::move(plan)) {
  for (auto& call : calls_) {
    call.started = DeviceEvent(device_);
    call.finished = DeviceEvent(device_);
  }
  thread_ = start_thread<std::jthread>("that watches over calls",
                                       [this](const std::stop_token& stop) { run(stop); });
}

Watchdog::~Watchdog() { stop(); }

void Watchdog::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Watchdog::Call* Watchdog::take(std::uint64_t call_index) {
  const std::lock_guard lock(mutex_);
  for (auto& call : calls_)
    if (call.state == Call::State::free) {
      call.state = Call::State::taken;
      call.call_index = call_index;
      call.since.reset();
      return &call;
    }
  return nullptr;
}

void Watchdog::under_way(Call* call) {
  if (!call) return;
  const std::lock_guard lock(mutex_);
  call->state = Call::State::under_way;
}

void Watchdog::drop(Call* call) {
  if (!call) return;
  const std::lock_guard lock(mutex_);
  call->state = Call::State::free;
}

std::optional<Error> Watchdog::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Watchdog::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ =
        error.code() == ErrorCode::timeout ? Error(error.code(), with_timeout_advice(error.what())) : error;
  }
  changed_.notify_all();
}

void Watchdog::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return failure_ || std::none_of(calls_.begin(), calls_.end(),
                                    [](const Call& call) { return call.state == Call::State::under_way; });
  });
}

void Watchdog::run(const std::stop_token& stop) {
  // Asking for events is among what a capture in another thread forbids, unless this thread says that it
  // takes no part in it.
  const OutsideCaptures outside;
  const auto period = std::clamp<std::chrono::milliseconds>(timeout_ / 20, std::chrono::milliseconds(2),
                                                            std::chrono::milliseconds(50));
  while (!failure() && !stop.stop_requested()) {
    if (const auto error = look()) fail(*error);
    std::unique_lock lock(mutex_);
    changed_.notify_all();
    changed_.wait_for(lock, stop, period, [&] { return failure_.has_value(); });
  }
  if (const auto error = failure()) transport_.abort(error->what());
}

std::vector<Watchdog::Call*> Watchdog::calls_under_way() {
  const std::lock_guard lock(mutex_);
  std::vector<Call*> found;
  for (auto& call : calls_)
    if (call.state == Call::State::under_way) found.push_back(&call);
  std::sort(found.begin(), found.end(),
            [](const Call* a, const Call* b) { return a->call_index < b->call_index; });
  return found;
}

// The driver may keep this thread waiting while another one frees memory, and then nobody may wait for the
// watch's lock: only this thread ends what is under way, so it asks for events without it.
std::optional<Error> Watchdog::look() {
  if (auto error = transport_.failure()) return error;
  const auto calls = calls_under_way();
  if (calls.empty()) return std::nullopt;
  try {
    const OnDevice current(*device_);
    bool behind_another = false;  // calls on several streams may begin at once, and run one after the other
    for (Call* const call : calls) {
      const CuResult finished = driver().cuEventQuery(call->finished.get());
      if (finished == kCuSuccess ||
          finished == kCuDeinitialised) {  // the call has ended, or the process ends
        drop(call);
        continue;
      }
      if (finished != kCuNotReady)
        return Error(ErrorCode::system,
                     fmt::format("device {} failed: {}, in all-reduce number {} of {}; the process must be "
                                 "started again.",
                                 device_->ordinal(), words_of(finished), call->call_index, plan_));
      if (!behind_another && !call->since && driver().cuEventQuery(call->started.get()) == kCuSuccess)
        call->since = Clock::now();
      behind_another = true;
      if (call->since && Clock::now() - *call->since > timeout_)
        return Error(
            ErrorCode::timeout,
            fmt::format("rank {} waited {} ms for its neighbours, ranks {} and {}, in all-reduce number "
                        "{} of {}.",
                        transport_.rank(), timeout_.count(),
                        (transport_.rank() + transport_.size() - 1) % transport_.size(),
                        (transport_.rank() + 1) % transport_.size(), call->call_index, plan_));
    }
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace cerar::runtime
