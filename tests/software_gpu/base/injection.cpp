#include "tests/software_gpu/base/injection.h"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace software_gpu {
namespace {

std::atomic<bool> initialised{false};
thread_local std::array<long long, 4> of_thread{};  // like State::faults, for calls of this thread

struct State {
  std::mutex mutex;
  SoftwareGpuCounters counters{};
  std::array<long long, 4> faults{};  // calls left until the fault; 0: none
};
// Never destroyed: threads of streams may outlive main().
State& state() {
  static State& made = *new State;
  return made;
}

}  // namespace

void Failures::add(const std::string& function, long long n, int code) {
  const std::lock_guard hold(mutex_);
  if (n > 0)
    failures_[function] = {n, code};
  else
    failures_.erase(function);
}

int Failures::next(const char* function) {
  const std::lock_guard hold(mutex_);
  if (failures_.empty()) return 0;
  const auto found = failures_.find(function);
  if (found == failures_.end() || --found->second.left > 0) return 0;
  const int code = found->second.code;
  failures_.erase(found);
  return code;
}

void Failures::clear() {
  const std::lock_guard hold(mutex_);
  failures_.clear();
}

Failures& failures() {
  static Failures& made = *new Failures;
  return made;
}

void set_initialised() { initialised = true; }

CuResult enter(const char* function) {
  if (const int code = failures().next(function)) return static_cast<CuResult>(code);
  const bool always = !std::strcmp(function, "cuInit") || !std::strcmp(function, "cuDriverGetVersion");
  return initialised || always ? kCuSuccess : kNotInitialised;
}

bool strikes(SoftwareGpuFault fault) {
  if (long long& left = of_thread[fault]; left > 0 && --left == 0) return true;
  const std::lock_guard hold(state().mutex);
  long long& left = state().faults[fault];
  return left > 0 && --left == 0;
}

long long inject(int fault, long long n) {
  const std::lock_guard hold(state().mutex);
  return std::exchange(state().faults.at(static_cast<std::size_t>(fault)), n);
}

long long inject_here(int fault, long long n) {
  return std::exchange(of_thread.at(static_cast<std::size_t>(fault)), n);
}

void clear_injections() {
  failures().clear();
  const std::lock_guard hold(state().mutex);
  state().faults = {};
}

SoftwareGpuCounters counted() {
  const std::lock_guard hold(state().mutex);
  return state().counters;
}

void count(long long SoftwareGpuCounters::* which, long long by) {
  const std::lock_guard hold(state().mutex);
  state().counters.*which += by;
}

void record_launch(long long grid, long long block) {
  const std::lock_guard hold(state().mutex);
  ++state().counters.launches;
  state().counters.last_grid = grid;
  state().counters.last_block = block;
}

void clear_counters() {
  const std::lock_guard hold(state().mutex);
  state().counters = {};
}

}  // namespace software_gpu
