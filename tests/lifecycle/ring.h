#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"

namespace cerar::test {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Communicators of the exact ring for so many threads; what is left of them is destroyed at the end.
template <int Ranks>
class LocalRing {
 public:
  explicit LocalRing(int timeout_ms = 60000) {
    EXPECT_EQ(cerarCommInitLocal(comms_.data(), Ranks, nullptr, TimeLimit(timeout_ms)), cerarSuccess)
        << cerarGetLastError();
  }
  ~LocalRing() {
    for (cerarComm_t comm : comms_)
      if (comm) {
        EXPECT_EQ(cerarCommDestroy(comm), cerarSuccess) << cerarGetLastError();
      }
  }
  LocalRing(const LocalRing&) = delete;
  LocalRing& operator=(const LocalRing&) = delete;

  cerarComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  cerarComm_t release(int rank) { return std::exchange(comms_[static_cast<std::size_t>(rank)], nullptr); }

 private:
  std::array<cerarComm_t, Ranks> comms_{};
};

struct Outcome {
  cerarResult_t result = cerarSuccess;
  std::string sentence;
};

inline Outcome outcome_of(cerarResult_t result) {
  return {result, result == cerarSuccess ? "" : cerarGetLastError()};
}

/// One all-reduce of `count` elements of 1.0.
inline Outcome call(cerarComm_t comm, std::size_t count = 1000) {
  std::vector<float> vector(count, 1.0f);
  return outcome_of(
      cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32, cerarSum, comm, nullptr));
}

/// All ranks once, with the right sum.
template <int Ranks>
void expect_sums(const LocalRing<Ranks>& ring) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < Ranks; ++rank)
    threads.emplace_back([&ring, rank] {
      std::vector<float> vector(777, static_cast<float>(rank + 1));
      EXPECT_EQ(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, cerarSum,
                               ring[rank], nullptr),
                cerarSuccess)
          << cerarGetLastError();
      for (const float x : vector) ASSERT_EQ(x, static_cast<float>(Ranks * (Ranks + 1) / 2));
    });
  for (auto& thread : threads) thread.join();
}

/// Calls in a thread that wait for rank 0, which does not come, until somebody ends them.
class Waiting {
 public:
  explicit Waiting(cerarComm_t comm)
      : thread_([this, comm] {
          do outcome_ = call(comm);
          while (outcome_.result == cerarInvalidArgument);  // refused beside the question below
          ended_ = Clock::now();
        }) {
    // Until it is in its call: then, and only then, another thread is refused.
    while (outcome_of(cerarCommPrepare(comm, 0, cerarFloat32, cerarSum)).result == cerarSuccess)
      std::this_thread::yield();
  }
  Outcome join() {
    thread_.join();
    return outcome_;
  }
  Clock::time_point ended() const { return ended_; }

 private:
  Outcome outcome_;
  Clock::time_point ended_;
  std::thread thread_;
};

}  // namespace cerar::test
