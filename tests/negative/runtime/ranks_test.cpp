// Ranks that do not do the same: all of them learn it, in time, and what can go on does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRanks = 4;
constexpr std::size_t kCount = 5000;

/// What a rank passes; Call{} joins in rightly.
struct Call {
  bool comes = true;
  std::size_t count = kCount;
  cerarRedOp_t op = cerarSum;
};

struct Outcome {
  cerarResult_t result = cerarSuccess;
  std::string sentence;
  std::vector<float> to;
  double seconds = 0;
};

/// Four ranks with a plan of approximate codes, or without one the built-in ring.
class Ranks : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { make(300); }
  void TearDown() override { destroy(); }

  void make(int timeout_ms) {
    cerarPlan_t plan = nullptr;
    if (GetParam()) {
      ASSERT_EQ(cerarPlanLoad(&plan, intact_plan().c_str()), cerarSuccess) << cerarGetLastError();
    }
    ASSERT_EQ(cerarCommInitLocal(comms, kRanks, plan, TimeLimit(timeout_ms)), cerarSuccess)
        << cerarGetLastError();
    cerarPlanFree(plan);
  }
  void destroy() {
    for (cerarComm_t& comm : comms) {
      EXPECT_EQ(cerarCommDestroy(comm), cerarSuccess);
      comm = nullptr;
    }
  }

  std::vector<Outcome> run(const std::function<Call(int rank)>& call_of) {
    std::vector<Outcome> outcomes(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        const Call call = call_of(rank);
        Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
        outcome.to.assign(2 * kCount, -1.0f);
        if (!call.comes) return;
        const std::vector<float> from(2 * kCount, 1.0f);
        const auto start = Clock::now();
        outcome.result = cerarAllReduce(from.data(), outcome.to.data(), call.count, cerarFloat32, call.op,
                                        comms[rank], nullptr);
        outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (outcome.result != cerarSuccess) outcome.sentence = cerarGetLastError();
      });
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

  void expect_working() {
    for (const Outcome& outcome : run([](int) { return Call{}; })) {
      EXPECT_EQ(outcome.result, cerarSuccess) << outcome.sentence;
      for (std::size_t i = 0; i < kCount; ++i) ASSERT_NEAR(outcome.to[i], kRanks, 0.05) << i;
      for (std::size_t i = kCount; i < outcome.to.size(); ++i) ASSERT_EQ(outcome.to[i], -1.0f) << i;
    }
  }

  void expect_mismatch(const std::function<Call(int rank)>& call_of, const std::vector<std::string>& words) {
    for (const Outcome& outcome : run(call_of)) {
      EXPECT_EQ(outcome.result, cerarMismatch) << outcome.sentence;
      expect_sentence(outcome.sentence, words);
      EXPECT_THAT(outcome.to, testing::Each(-1.0f)) << "something was written";
    }
    expect_working();
  }

  cerarComm_t comms[kRanks] = {};
};

TEST_P(Ranks, DifferentCounts) {
  expect_mismatch([](int rank) { return Call{.count = rank == 2 ? kCount + 1 : kCount}; },
                  {"ranks 0 and 2", "counts 5000 and 5001"});
}

TEST_P(Ranks, NothingOnOneRank) {
  expect_mismatch([](int rank) { return Call{.count = rank == 0 ? 0 : kCount}; },
                  {"ranks 0 and 1", "counts 0 and 5000"});
}

TEST_P(Ranks, DifferentOperations) {
  expect_mismatch([](int rank) { return Call{.op = rank == 3 ? cerarAverage : cerarSum}; },
                  {"ranks 0 and 3", "operations sum and average"});
}

TEST_P(Ranks, DifferentAgainAndAgain) {
  for (int i = 0; i < 20; ++i)
    expect_mismatch([i](int rank) { return Call{.count = rank == i % kRanks ? kCount - 1 : kCount}; },
                    {"counts", "5000", "4999"});
}

TEST_P(Ranks, OneNeverCalls) {
  expect_working();
  const auto outcomes = run([](int rank) { return Call{.comes = rank != 1}; });
  for (const int rank : {0, 2, 3}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    // The first to notice tells the others, who may hear of it from there.
    EXPECT_THAT(outcome.result, testing::AnyOf(cerarTimeout, cerarPeerFailed))
        << rank << ": " << outcome.sentence;
    expect_sentence(outcome.sentence, {"number 1", "rank(s) 1", "300 ms", "timeout_ms", "CERAR_TIMEOUT"});
    EXPECT_GE(outcome.seconds, 0.25) << rank;
    EXPECT_LE(outcome.seconds, 30) << rank;  // much more than the timeout, for busy machines
    EXPECT_THAT(outcome.to, testing::Each(-1.0f));
  }
  EXPECT_TRUE(outcomes[0].result == cerarTimeout || outcomes[2].result == cerarTimeout ||
              outcomes[3].result == cerarTimeout);

  // From here on every call fails at once, the late rank's too, and says why.
  for (const Outcome& outcome : run([](int) { return Call{}; })) {
    EXPECT_EQ(outcome.result, cerarPeerFailed);
    expect_sentence(outcome.sentence, {"rank(s) 1"});
  }
  destroy();
  make(1000);
  expect_working();
}

TEST_P(Ranks, AllButOneNeverCall) {
  const auto outcomes = run([](int rank) { return Call{.comes = rank == 2}; });
  EXPECT_EQ(outcomes[2].result, cerarTimeout);
  expect_sentence(outcomes[2].sentence, {"rank(s) 0, 1, 3"});
}

TEST_P(Ranks, OneIsDestroyedWhileTheOthersWait) {
  std::thread destroyer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cerarCommDestroy(comms[1]);
    comms[1] = nullptr;
  });
  const auto outcomes = run([](int rank) { return Call{.comes = rank != 1}; });
  destroyer.join();
  for (const int rank : {0, 2, 3})
    EXPECT_THAT(outcomes[static_cast<std::size_t>(rank)].result,
                testing::AnyOf(cerarTimeout, cerarPeerFailed));
}

INSTANTIATE_TEST_SUITE_P(Api, Ranks, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Plan" : "BuiltInRing"); });

}  // namespace
}  // namespace cerar::test
