// One and two workers: nothing can be gained; the command says so and the plan still works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/measure/measure.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

void expect_working_plan(int workers, const std::string& reason) {
  const auto directory = fresh_directory("few");
  const auto result = run_in(directory, CERAR_TUNE,
                             {"--topology", "local", "--workers", std::to_string(workers), "--out", "plan"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, testing::HasSubstr(reason));
  const runtime::LocalRanks ranks((directory / "plan").string(), workers);
  for (const std::size_t count : {1, 100, 20000, 100003})
    for (const bool in_place : {false, true})
      for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
        const auto errors = runtime::measure_errors(
            ranks, {.count = count, .input = runtime::Input::integers, .op = op, .in_place = in_place});
        EXPECT_EQ(errors.not_equal, 0u) << count << (in_place ? " in place" : "");
      }
}

TEST(FewWorkers, One) { expect_working_plan(1, "one worker has nothing to send"); }
TEST(FewWorkers, Two) { expect_working_plan(2, "with two workers a ring already sends each element once"); }

}  // namespace
}  // namespace cerar::test
