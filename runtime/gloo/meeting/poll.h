#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace cerar::runtime {

/// Calls `ready` again and again, ever more slowly, until it is true; false when `deadline` comes first.
template <typename Ready>
bool poll_until(std::chrono::steady_clock::time_point deadline, Ready ready) {
  using namespace std::chrono_literals;
  for (std::chrono::steady_clock::duration pause = 1ms;; pause = std::min<decltype(pause)>(2 * pause, 20ms)) {
    if (ready()) return true;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= 0ms) return false;
    std::this_thread::sleep_for(std::min(pause, left));
  }
}

}  // namespace cerar::runtime
