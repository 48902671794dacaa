// Where a plan cannot go, and what replacing one may leave behind: the old plan or the new one, always whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/measure/rank_threads.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> tune_to(const std::string& out) {
  return {"--topology", "local", "--workers", "1", "--out", out};
}

std::map<std::string, std::string> contents(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : entries_below(directory))
    files[entry] = fs::is_directory(directory / entry) ? "" : read_text(directory / entry);
  return files;
}

TEST(Output, ParentIsAFile) {
  const auto directory = fresh_directory("output");
  write_text(directory / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, tune_to("thesis/plan"),
                 {"thesis/plan", "parent", "is not a directory"});
  EXPECT_EQ(read_text(directory / "thesis"), "irreplaceable");
}

TEST(Output, ParentIsMissing) {
  expect_refused(fresh_directory("output"), CERAR_TUNE, tune_to("missing/plan"),
                 {"missing/plan", "parent", "is not a directory"});
}

TEST(Output, ParentTakesNoFiles) {
  expect_refused(fresh_directory("output"), CERAR_TUNE, tune_to("/proc/plan"), {"/proc"});
}

TEST(Output, DefaultParentIsAFile) {
  const auto directory = fresh_directory("output");
  write_text(directory / "plans", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, {"--topology", "local"}, {"plans", "is not a directory"});
}

TEST(Output, DestinationIsAFile) {
  const auto directory = fresh_directory("output");
  write_text(directory / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, tune_to("thesis"),
                 {"thesis", "not a plan directory", "choose another"});
  EXPECT_EQ(read_text(directory / "thesis"), "irreplaceable");
}

TEST(Output, DestinationHoldsOtherThings) {
  const auto directory = fresh_directory("output");
  fs::create_directories(directory / "work" / "deep");
  write_text(directory / "work" / "deep" / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, tune_to("work"), {"work", "not a plan directory"});
  EXPECT_EQ(read_text(directory / "work" / "deep" / "thesis"), "irreplaceable");
}

TEST(Output, DestinationHoldsAPlanAndOtherThings) {
  const auto directory = fresh_directory("output");
  fs::copy(exact_plan(), directory / "work", fs::copy_options::recursive);
  write_text(directory / "work" / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, tune_to("work"), {"work", "not a plan directory"});
  EXPECT_EQ(read_text(directory / "work" / "thesis"), "irreplaceable");
}

TEST(Output, WorkingDirectory) {
  const auto directory = fresh_directory("output");
  write_text(directory / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, tune_to("."), {"not a plan directory"});
}

TEST(Output, Root) {
  expect_refused(fresh_directory("output"), CERAR_TUNE, tune_to("/"), {"not a plan directory"});
}

TEST(Output, NameTooLong) {
  expect_refused(fresh_directory("output"), CERAR_TUNE, tune_to(std::string(300, 'x')), {"xxx", "too long"});
}

TEST(Output, ExistingPlanIsKeptWhenAsked) {
  const auto directory = fresh_directory("output");
  fs::copy(exact_plan(), directory / "plan", fs::copy_options::recursive);
  const auto before = contents(directory);
  auto arguments = tune_to("plan");
  arguments.push_back("--keep");
  expect_refused(directory, CERAR_TUNE, arguments, {"plan already holds a plan", "choose another"});
  EXPECT_EQ(contents(directory), before);
}

TEST(Output, ExistingPlanIsReplacedWithNothingLeft) {
  const auto directory = fresh_directory("output");
  fs::copy(exact_plan(), directory / "plan", fs::copy_options::recursive);
  const auto result = run_in(directory, CERAR_TUNE, tune_to("plan"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(runtime::load_plan(directory / "plan").workers, 1);
  EXPECT_THAT(entries_below(directory),
              testing::ElementsAre("plan", "plan/kernels", "plan/kernels/ring-c1.cu",
                                   "plan/kernels/ring-c1.host.so", "plan/plan.yaml"));
}

TEST(Output, ATruncatedPlanIsReplaced) {
  const auto directory = fresh_directory("output");
  fs::copy(exact_plan(), directory / "plan", fs::copy_options::recursive);
  write_text(directory / "plan" / "plan.yaml", "form");
  EXPECT_EQ(run_in(directory, CERAR_TUNE, tune_to("plan")).exit_code, 0);
  EXPECT_EQ(runtime::load_plan(directory / "plan").workers, 1);
}

// A plan for two ranks and one for one rank take turns; the moments are spread over the whole run.
TEST(Output, KilledAtAnyMomentTheDestinationHoldsAWholePlan) {
  const auto directory = fresh_directory("output");
  fs::copy(exact_plan(), directory / "plan", fs::copy_options::recursive);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_in(directory, CERAR_TUNE, tune_to("other")).exit_code, 0);
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  std::mt19937 engine(7);
  int killed = 0;
  for (int run = 0; run < 12; ++run) {
    const double share = (run + std::uniform_real_distribution<>(0, 1)(engine)) / 12;
    auto arguments = tune_to("plan");
    arguments[3] = std::to_string(1 + run % 2);
    const auto result = run_in(directory, CERAR_TUNE, arguments,
                               {.kill_after = std::chrono::microseconds(
                                    static_cast<long>(static_cast<double>(whole.count()) * share))});
    killed += result.signal != 0;
    const auto plan = runtime::load_plan(directory / "plan");  // throws unless every file is there and whole
    const runtime::LocalRanks ranks((directory / "plan").string(), plan.workers);
    EXPECT_EQ(ranks.size(), plan.workers);
  }
  EXPECT_GE(killed, 6) << "the runs ended before they could be killed";
  EXPECT_EQ(run_in(directory, CERAR_TUNE, tune_to("plan")).exit_code, 0) << "what is left is in the way";
  EXPECT_EQ(runtime::load_plan(directory / "plan").workers, 1);
}

TEST(Output, FullDeviceIsReported) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto directory = fresh_directory("output");
  const auto result = run_command(
      {"/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full", CERAR_TUNE, "show", exact_plan().string()},
      {.directory = directory});
  expect_refusal(result, {"standard output", "No space left"});
}

}  // namespace
}  // namespace cerar::test
