#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace cerar::runtime {

/// Between two looks at MPI, which has no wait that ends by itself: yields at first, so that the answer of a
/// rank on the same core costs no sleep, then sleeps in growing steps, so that waiting ranks leave their
/// cores to those that compute.
class Pause {
 public:
  void operator()() {
    if (yields_ < kYields) {
      ++yields_;
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(step_);
    slept_ += step_;
    step_ = std::min(2 * step_, slept_ < kPatience ? kLongest : kLongestAfterwards);
  }

 private:
  static constexpr int kYields = 20;
  static constexpr std::chrono::microseconds kLongest{50}, kLongestAfterwards{1000}, kPatience{50000};
  int yields_ = 0;
  std::chrono::microseconds step_{1}, slept_{0};
};

}  // namespace cerar::runtime
