// What a program prints arrives, or the program says that it did not: full devices, closed streams and pipes
// that no one reads, for everything that prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

struct Printing {
  std::string name;
  std::string program;
  std::vector<std::string> arguments;  ///< "PLAN" is a small plan
};
void PrintTo(const Printing& printing, std::ostream* out) { *out << printing.name; }

const Printing kPrinting[] = {
    {"Tune", CERAR_TUNE, {"--topology", "local", "--workers", "2", "--out", "plan"}},
    {"TuneJson", CERAR_TUNE, {"--topology", "local", "--workers", "2", "--out", "plan", "--json"}},
    {"Pareto", CERAR_TUNE, {"--topology", "local", "--workers", "2", "--pareto"}},
    {"ParetoJson", CERAR_TUNE, {"--topology", "local", "--workers", "2", "--pareto", "--json"}},
    {"Compare", CERAR_TUNE, {"compare", "--workers", "3", "--components", "4"}},
    {"CompareJson", CERAR_TUNE, {"compare", "--workers", "3", "--components", "4", "--json"}},
    {"Show", CERAR_TUNE, {"show", "PLAN"}},
    {"ShowJson", CERAR_TUNE, {"show", "PLAN", "--json"}},
    {"Check", CERAR_TUNE, {"check", "PLAN"}},
    {"TuneHelp", CERAR_TUNE, {"--help"}},
    {"ShowHelp", CERAR_TUNE, {"show", "--help"}},
    {"TuneVersion", CERAR_TUNE, {"--version"}},
    {"Bench", CERAR_BENCH, {"--plan", "PLAN", "-b", "1K", "-e", "1K", "-n", "1"}},
    {"BenchJson", CERAR_BENCH, {"--plan", "PLAN", "-b", "1K", "-e", "1K", "-n", "1", "--json"}},
    {"BenchHelp", CERAR_BENCH, {"--help"}},
    {"BenchVersion", CERAR_BENCH, {"--version"}},
#if defined(CERAR_BENCH_MPI)
    {"BenchMpi", CERAR_BENCH_MPI, {"--plan", "PLAN", "-b", "1K", "-e", "1K", "-n", "1"}},
    {"BenchMpiVersion", CERAR_BENCH_MPI, {"--version"}},
#endif
};

class Streams : public testing::TestWithParam<Printing> {
 protected:
  CommandResult run(const CommandOptions& options) {
    auto arguments = GetParam().arguments;
    for (auto& argument : arguments)
      if (argument == "PLAN") argument = exact_plan().string();
    return run_in(directory_, GetParam().program, arguments, options);
  }

  void expect_lost(Stream out, const std::string& reason) {
    const auto result = run({.out = out});
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err,
                testing::MatchesRegex(fs::path(GetParam().program).filename().string() +
                                      ": standard output cannot be written: " + reason + "; .*[.]\n"));
    // No file took the place of a stream.
    if (fs::exists(directory_ / "plan")) {
      EXPECT_EQ(runtime::load_plan(directory_ / "plan").workers, 2);
    }
  }

  fs::path directory_ = fresh_directory("streams");
};

TEST_P(Streams, ArriveWhereThereIsRoom) {
  const auto result = run({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, testing::EndsWith("\n"));
}

TEST_P(Streams, AFullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  expect_lost(Stream::full, "No space left on device");
}

TEST_P(Streams, AClosedStreamIsAnError) { expect_lost(Stream::closed, "Bad file descriptor"); }

TEST_P(Streams, AReaderThatHasGoneEndsItWithoutAWord) {
  const auto result = run({.out = Stream::broken});
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "");
}

INSTANTIATE_TEST_SUITE_P(Programs, Streams, testing::ValuesIn(kPrinting),
                         [](const auto& info) { return info.param.name; });

TEST(StreamsForErrors, ALostSentenceIsStillAnExitCode) {
  for (const Stream err : {Stream::full, Stream::closed, Stream::broken})
    for (const auto* program : {CERAR_TUNE, CERAR_BENCH}) {
      const auto result = run_in(fresh_directory("streams"), program, {"--frobnicate"}, {.err = err});
      EXPECT_EQ(result.signal, 0);
      EXPECT_EQ(result.exit_code, 2);
    }
}

TEST(StreamsForErrors, WhereThereIsNothingToSayTheyAreNotNeeded) {
  const auto result = run_in(fresh_directory("streams"), CERAR_TUNE, {"show", exact_plan().string()},
                             {.err = Stream::closed});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::HasSubstr("ring-c2"));
}

// `check` says on standard error what differs: nothing that is lost there may look like a plan that holds.
TEST(StreamsForErrors, ALostDifferenceIsAnError) {
  const auto plan = copy_of(exact_plan());
  write_text(plan / "plan.yaml", replaced(read_text(plan / "plan.yaml"), "lanes: 2", "lanes: 3"));
  const auto result =
      run_in(fresh_directory("streams"), CERAR_TUNE, {"check", plan.string()}, {.err = Stream::full});
  EXPECT_EQ(result.exit_code, 1);
}

TEST(Example, ReportsAFullDevice) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto result = run_in(fresh_directory("streams"), CERAR_EXAMPLE, {exact_plan().string(), "100"},
                             {.out = Stream::full});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("standard output: No space left on device"));
}

TEST(Versions, AreAlike) {
  const auto version = [](const std::string& program) {
    return run_in(fresh_directory("version"), program, {"--version"}).out;
  };
  EXPECT_THAT(version(CERAR_TUNE), testing::MatchesRegex("cerar [0-9]+[.][0-9]+[.][0-9]+\n"));
  EXPECT_EQ(version(CERAR_BENCH), version(CERAR_TUNE));
#if defined(CERAR_BENCH_MPI)
  EXPECT_EQ(version(CERAR_BENCH_MPI), version(CERAR_TUNE));
#endif
}

}  // namespace
}  // namespace cerar::test
