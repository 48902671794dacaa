// The C API between threads without any plan: builds and runs without the tuner, also under the sanitizers.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/measure/measure.h"

namespace cerar::runtime {
namespace {

TEST(BuiltInRing, SumsAnyCountExactly) {
  for (int workers : {1, 2, 3, 4, 7, 16}) {
    const LocalRanks ranks("", workers);
    for (std::size_t count : {0u, 1u, 31u, 32u, 1000u, 100003u})
      for (bool in_place : {false, true}) {
        const auto errors =
            measure_errors(ranks, {.count = count, .input = Input::integers, .in_place = in_place});
        EXPECT_EQ(errors.not_equal, 0u) << workers << " workers, count " << count;
      }
  }
}

TEST(BuiltInRing, TwoCommunicatorsInOneProcessDoNotMeet) {
  const LocalRanks first("", 3), second("", 3);
  const auto work = [](const LocalRanks& ranks) {
    for (std::size_t count : {5u, 50000u, 17u, 1u})
      EXPECT_EQ(measure_errors(ranks, {.count = count, .input = Input::integers}).not_equal, 0u);
  };
  std::thread other([&] { work(second); });
  work(first);
  other.join();
}

TEST(BuiltInRing, ThousandsOfSmallCallsWithChangingValues) {
  const LocalRanks ranks("", 4);
  ranks.run([&](int rank) {
    for (int i = 0; i < 3000; ++i) {
      std::vector<float> vector(static_cast<std::size_t>(1 + i % 50), static_cast<float>(i + rank));
      require_success(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, cerarSum,
                                     ranks.comm(rank), nullptr));
      for (float x : vector) ASSERT_EQ(x, static_cast<float>(4 * i + 6)) << "call " << i;
    }
  });
}

}  // namespace
}  // namespace cerar::runtime
