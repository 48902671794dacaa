// Many calls, calls that differ between ranks, and two communicators at once.
#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

constexpr int kRanks = 4;

std::string all_reduce(const Comm& comm, std::vector<float>& vector, cerarRedOp_t op = cerarSum) {
  return answer_of(
      cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, op, comm.get(), nullptr));
}

// Equal vectors of one number, of which approximate codes make an error of rounding alone.
std::string checked_call(const Comm& comm, std::size_t count, float value, double tolerance) {
  std::vector<float> vector(count, value);
  if (const auto answer = all_reduce(comm, vector); answer != "ok") return answer;
  for (const float x : vector)
    if (!(std::abs(x - kRanks * value) <= tolerance * kRanks * std::abs(value)))
      return "got " + std::to_string(x) + " for " + std::to_string(value);
  return "ok";
}

TEST(JobCalls, TenThousandSmallOnesInARow) {
  const std::string plan = job_plan("ring", kRanks, 1), store = fresh_store();
  Job job(
      kRanks,
      [&](int rank) {
        const Comm comm = join(rank, kRanks, plan, store);
        std::string answer = "ok";
        for (int i = 0; i < 10000 && answer == "ok"; ++i)
          answer = checked_call(comm, static_cast<std::size_t>(1 + i % 7), static_cast<float>(i + 1), 0);
        return answer;
      },
      std::chrono::seconds(580));
  for (const Ending& ending : job.finish()) EXPECT_EQ(ending.answer, "ok");
}

TEST(JobCalls, ChangingSizesWithAnApproximatePlan) {
  const std::string plan = job_plan("differential", kRanks, 16), store = fresh_store();
  expect_all(kRanks, [&](int rank) {
    const Comm comm = join(rank, kRanks, plan, store);
    std::string answer = "ok";
    for (int i = 0; i < 50 && answer == "ok"; ++i)
      answer = checked_call(comm, static_cast<std::size_t>(1 + i * 379), static_cast<float>(i + 1), 1e-3);
    return answer;
  });
}

TEST(JobCalls, NothingIsSuccess) {
  const std::string store = fresh_store();
  expect_all(kRanks, [&](int rank) {
    const Comm comm = join(rank, kRanks, "", store);
    return answer_of(cerarAllReduce(nullptr, nullptr, 0, cerarFloat32, cerarSum, comm.get(), nullptr));
  });
}

void expect_mismatch(const std::function<std::string(const Comm&, int rank)>& differ,
                     const std::string& words) {
  const std::string plan = job_plan("differential", kRanks, 16), store = fresh_store();
  Job job(kRanks, [&](int rank) {
    const Comm comm = join(rank, kRanks, plan, store);
    const std::string answer = differ(comm, rank);
    const std::string next = checked_call(comm, 1000, 3, 1e-3);
    return next == "ok" ? answer : "afterwards: " + next;
  });
  for (const Ending& ending : job.finish()) {
    EXPECT_THAT(ending.answer, testing::StartsWith("ranks disagree"));
    EXPECT_THAT(ending.answer, testing::HasSubstr(words));
  }
}

TEST(JobCalls, DifferentCountsAreNamedOnEveryRankAndNothingIsLost) {
  expect_mismatch(
      [](const Comm& comm, int rank) {
        std::vector<float> vector(rank == 2 ? 5001 : 5000, 1.0f);
        return all_reduce(comm, vector);
      },
      "ranks 0 and 2 call all-reduce number 0 with different counts 5000 and 5001");
}

TEST(JobCalls, DifferentOperationsAreNamedOnEveryRankAndNothingIsLost) {
  expect_mismatch(
      [](const Comm& comm, int rank) {
        std::vector<float> vector(5000, 1.0f);
        return all_reduce(comm, vector, rank == 3 ? cerarAverage : cerarSum);
      },
      "ranks 0 and 3 call all-reduce number 0 with different operations sum and average");
}

TEST(JobCalls, DifferentPlansAreRefusedOnEveryRank) {
  const std::string first = job_plan("differential", kRanks, 16), second = job_plan("ring", kRanks, kRanks),
                    store = fresh_store();
  Job job(kRanks, [&](int rank) -> std::string {
    const Comm comm = join(rank, kRanks, rank == 1 ? second : first, store);
    return "joined";
  });
  for (const Ending& ending : job.finish())
    EXPECT_THAT(ending.answer, testing::HasSubstr("ranks 0 and 1 make a communicator with different plans"));
}

TEST(JobCalls, TwoCommunicatorsFromTwoThreads) {
  const std::string plan = job_plan("differential", kRanks, 16);
  const std::string stores[] = {fresh_store(), fresh_store()};
  expect_all(kRanks, [&](int rank) {
    std::string answers[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i)
      threads[i] = std::thread([&, i] {
        try {
          const Comm comm = join(rank, kRanks, i == 0 ? plan : "", stores[i]);
          answers[i] = "ok";
          for (int call = 0; call < 100 && answers[i] == "ok"; ++call)
            answers[i] = checked_call(comm, 3000, static_cast<float>(call + 1000 * i + 1), i == 0 ? 1e-3 : 0);
        } catch (const std::exception& error) {
          answers[i] = error.what();
        }
      });
    for (auto& thread : threads) thread.join();
    return answers[0] == "ok" ? answers[1] : answers[0];
  });
}

}  // namespace
}  // namespace cerar::test
