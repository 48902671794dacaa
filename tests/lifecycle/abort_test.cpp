// Calls that end before their time: by cerarCommAbort, and by cerarCommDestroy beside them.
#include <gmock/gmock.h>

#include "tests/lifecycle/ring.h"

namespace cerar::test {
namespace {

using testing::HasSubstr;

TEST(Abort, EndsACallUnderWayAndEveryLaterOneOfEveryRank) {
  LocalRing<3> ring;
  Waiting one(ring[1]), two(ring[2]);
  const auto start = Clock::now();
  ASSERT_EQ(cerarCommAbort(ring[1]), cerarSuccess) << cerarGetLastError();
  const Outcome ended = one.join(), told = two.join();
  const std::chrono::duration<double> latency = std::max(one.ended(), two.ended()) - start;
  RecordProperty("latency_us", static_cast<int>(latency.count() * 1e6));
  EXPECT_LT(latency.count(), 2);  // 100 ms are promised, on a machine that is not overloaded
  EXPECT_EQ(ended.result, cerarAborted);
  EXPECT_THAT(ended.sentence,
              HasSubstr("rank 1 aborted its communicator (cerarCommAbort), in all-reduce number 0"));
  EXPECT_EQ(told.result, cerarPeerFailed);
  EXPECT_THAT(told.sentence, HasSubstr("rank 1 aborted its communicator"));
  for (int i = 0; i < 2; ++i) {  // again and again
    EXPECT_EQ(cerarCommAbort(ring[1]), cerarSuccess);
    EXPECT_EQ(call(ring[1]).result, cerarAborted);
    EXPECT_EQ(call(ring[0]).result, cerarPeerFailed);
  }
}

TEST(Abort, WithoutACallTheNextOnesFail) {
  LocalRing<2> ring;
  expect_sums(ring);
  ASSERT_EQ(cerarCommAbort(ring[0]), cerarSuccess);
  const Outcome own = call(ring[0]), other = call(ring[1]);
  EXPECT_EQ(own.result, cerarAborted);
  EXPECT_EQ(other.result, cerarPeerFailed);
  EXPECT_THAT(other.sentence, HasSubstr("rank 0 aborted its communicator"));
  cerarResult_t error = cerarSuccess;
  EXPECT_EQ(cerarCommGetAsyncError(ring[0], &error), cerarSuccess);
  EXPECT_EQ(error, cerarAborted);
}

// While calls run, an abort comes at any moment: each call succeeds with the right sum, or fails.
TEST(Abort, AtAnyMomentGivesNoWrongSum) {
  for (int round = 0; round < 30; ++round) {
    LocalRing<3> ring;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&ring, rank, round] {
        std::vector<float> vector(40000);
        for (;;) {
          std::fill(vector.begin(), vector.end(), static_cast<float>(rank + 1));
          const auto result = cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32,
                                             cerarSum, ring[rank], nullptr);
          if (result != cerarSuccess) {
            EXPECT_EQ(result, rank == round % 3 ? cerarAborted : cerarPeerFailed) << cerarGetLastError();
            return;
          }
          for (const float x : vector) ASSERT_EQ(x, 6.0f);
        }
      });
    std::this_thread::sleep_for(
        std::chrono::microseconds(100 * round));  // the moment, not a wait for anything
    EXPECT_EQ(cerarCommAbort(ring[round % 3]), cerarSuccess);
    for (auto& thread : threads) thread.join();
  }
}

TEST(Destroy, WhileAnotherThreadCallsEndsThatCall) {
  for (int round = 0; round < 20; ++round) {
    LocalRing<2> ring;
    Waiting waiting(ring[1]);
    ASSERT_EQ(cerarCommDestroy(ring.release(1)), cerarSuccess) << cerarGetLastError();
    const Outcome outcome = waiting.join();
    EXPECT_EQ(outcome.result, cerarAborted);
    EXPECT_THAT(outcome.sentence, HasSubstr("rank 1 destroyed its communicator during a call"));
    const Outcome other = call(ring[0]);
    EXPECT_EQ(other.result, cerarPeerFailed);
    EXPECT_THAT(other.sentence, HasSubstr("rank 1 destroyed its communicator"));
  }
}

TEST(Destroy, FromSeveralThreadsHappensOnce) {
  LocalRing<2> ring;
  const cerarComm_t comm = ring.release(1);
  Waiting waiting(comm);
  std::array<Outcome, 4> outcomes;
  std::vector<std::thread> threads;
  for (auto& outcome : outcomes)
    threads.emplace_back([&outcome, comm] { outcome = outcome_of(cerarCommDestroy(comm)); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(waiting.join().result, cerarAborted);
  int destroyed = 0;
  for (const Outcome& outcome : outcomes) destroyed += outcome.result == cerarSuccess;
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace cerar::test
