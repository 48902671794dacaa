#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/base/error.h"

namespace cerar::runtime {

/// What MPI says about one of its error codes.
inline std::string mpi_sentence(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("error {}", code);
  return std::string(text, static_cast<std::size_t>(length));
}

/// Held around every call of MPI: with less than MPI_THREAD_MULTIPLE, communicators that are used from
/// several threads take turns. MPI must be initialised.
inline std::unique_lock<std::mutex> mpi_turn() {
  static std::mutex mutex;
  static const bool shared = [] {
    int level = MPI_THREAD_SINGLE;
    return MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  }();
  return shared ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(mutex);
}

/// mpi_call("MPI_Isend", MPI_Isend, arguments...): throws `system` with MPI's own sentence where it fails.
template <typename... Parameters, typename... Arguments>
void mpi_call(const char* name, int (*function)(Parameters...), Arguments... arguments) {
  const auto turn = mpi_turn();
  if (const int code = function(arguments...); code != MPI_SUCCESS)
    throw Error(ErrorCode::system, fmt::format("{} failed: {}.", name, mpi_sentence(code)));
}

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
    step_ = std::min(2 * step_, slept_ < kShortWait ? kLongest : kLongestAfterwards);
  }

 private:
  static constexpr int kYields = 20;
  static constexpr std::chrono::microseconds kLongest{50}, kLongestAfterwards{1000}, kShortWait{50000};
  int yields_ = 0;
  std::chrono::microseconds step_{1}, slept_{0};
};

}  // namespace cerar::runtime
