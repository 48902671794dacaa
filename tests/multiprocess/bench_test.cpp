// cerar-bench as a job of processes.
#include <gmock/gmock.h>

#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

TEST(JobBench, RankZeroAlonePrints) {
  const std::string plan = job_plan("differential", 4, 16), store = fresh_store();
  Job job(4, [&](int rank) {
    const auto result =
        run_command({CERAR_BENCH, "--plan", plan, "--transport", "gloo", "--rank", std::to_string(rank),
                     "--size", "4", "--store", store, "-b", "64K", "-e", "64K", "-n", "2"});
    return std::to_string(result.exit_code) + " " + result.err + result.out;
  });
  const auto endings = job.finish();
  EXPECT_THAT(endings[0].answer,
              testing::AllOf(testing::StartsWith("0 #"), testing::HasSubstr("transport gloo"),
                             testing::HasSubstr("differential-c16")));
  for (const std::size_t rank : {1u, 2u, 3u}) EXPECT_EQ(endings[rank].answer, "0 ") << rank;
}

TEST(JobBench, SaysWhatAJobNeeds) {
  const auto result =
      run_command({CERAR_BENCH, "--plan", job_plan("differential", 4, 16), "--transport", "gloo"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("--rank, --size and --store"));
}

}  // namespace
}  // namespace cerar::test
