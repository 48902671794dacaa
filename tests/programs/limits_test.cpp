// What the system refuses - threads, memory, descriptors, a stack, large files - is a sentence, or is done
// without; never a signal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kTune = {"--topology",   "local", "--workers", "4",
                                        "--components", "8",     "--out",     "plan"};

std::vector<std::string> bench(const fs::path& plan) {
  return {"--plan", plan.string(), "-b", "64K", "-e", "64K", "-n", "1"};
}

/// A program under a limit: it does what it is asked to, or says in one sentence why not. Below a limit of
/// its own the loader of programs ends it, with 127.
void expect_done_or_refused(const CommandResult& result, const std::string& what) {
  SCOPED_TRACE(what);
  if (result.exit_code == 0 || result.exit_code == 127) return;
  expect_refusal(result, {});
}

CommandOptions with_threads(int granted) {
  return {
      .environment = {"LD_PRELOAD=" CERAR_REFUSED_THREADS, "CERAR_TEST_THREADS=" + std::to_string(granted)}};
}

TEST(Threads, TheTunerDoesWithoutThem) {
  SKIP_WITH_SANITIZERS("come first in the order of libraries");
  const auto directory = fresh_directory("threads");
  const auto result = run_in(directory, CERAR_TUNE, kTune, with_threads(0));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(runtime::load_plan(directory / "plan").workers, 4);
}

TEST(Threads, ABenchmarkNamesTheRankThatHasNone) {
  SKIP_WITH_SANITIZERS("come first in the order of libraries");
  for (const int granted : {0, 3, 5}) {
    const auto result =
        run_in(fresh_directory("threads"), CERAR_BENCH, bench(intact_plan()), with_threads(granted));
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err,
                testing::MatchesRegex(
                    "cerar-bench: there is no thread for rank [0-3] of 4: Resource temporarily unavailable; "
                    ".*ulimit -u.*[.]\n"));
  }
}

TEST(Threads, ACheckSaysWhatItCouldNotRun) {
  SKIP_WITH_SANITIZERS("come first in the order of libraries");
  const auto result =
      run_in(fresh_directory("threads"), CERAR_TUNE, {"check", intact_plan().string()}, with_threads(1));
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("there is no thread for rank"));
}

/// Runs both programs with so much memory. Returns the tuner's exit code.
int expect_done_or_refused_within(std::size_t mib) {
  const CommandOptions options{.memory_limit = mib << 20};
  const auto directory = fresh_directory("memory");
  const auto tuned = run_in(directory, CERAR_TUNE, kTune, options);
  expect_done_or_refused(tuned, "cerar-tune in " + std::to_string(mib) + " MiB");
  EXPECT_THAT(
      entries_below(directory),
      testing::Conditional(tuned.exit_code == 0, testing::Not(testing::IsEmpty()), testing::IsEmpty()));
  const auto measured = run_in(directory, CERAR_BENCH, bench(intact_plan()), options);
  if (measured.out.empty())
    expect_done_or_refused(measured, "cerar-bench in " + std::to_string(mib) + " MiB");
  EXPECT_EQ(measured.signal, 0);
  return tuned.exit_code;
}

TEST(MemoryLimit, OfAnySizeIsASentence) {
  SKIP_WITH_SANITIZERS("need the address space");
  std::size_t too_little = 0, enough = 0;  // for the loader; for the tuner
  bool refused = false;
  for (std::size_t mib = 64; mib <= 1024; mib += mib / 4) {
    const int code = expect_done_or_refused_within(mib);
    refused |= code == 1;
    if (code == 127) too_little = mib;
    if (code == 0 && enough == 0) enough = mib;
  }
  ASSERT_GT(enough, too_little);
  // How far apart they are depends on the libraries, with NVRTC or without it.
  while (!refused && enough - too_little > 1) {
    const std::size_t mib = (too_little + enough) / 2;
    const int code = expect_done_or_refused_within(mib);
    refused = code == 1;
    (code == 127 ? too_little : enough) = mib;
  }
  EXPECT_TRUE(refused);
}

TEST(DescriptorLimit, OfAnyNumberIsASentence) {
  int done = 0;
  for (const std::size_t most : {3, 4, 5, 6, 7, 8, 9, 16}) {
    const CommandOptions options{.limits = {{RLIMIT_NOFILE, most}}};
    const auto directory = fresh_directory("descriptors");
    const auto tuned = run_in(directory, CERAR_TUNE, kTune, options);
    expect_done_or_refused(tuned, "cerar-tune with " + std::to_string(most));
    EXPECT_THAT(
        entries_below(directory),
        testing::Conditional(tuned.exit_code == 0, testing::Not(testing::IsEmpty()), testing::IsEmpty()));
    expect_done_or_refused(run_in(directory, CERAR_BENCH, bench(intact_plan()), options),
                           "cerar-bench with " + std::to_string(most));
    done += tuned.exit_code == 0;
  }
  EXPECT_GE(done, 1);
}

TEST(StackLimit, IsMadeUpFor) {
  SKIP_WITH_SANITIZERS("keep more on the stack before main");
  for (const std::size_t kib : {64, 256, 1024}) {
    const CommandOptions options{.limits = {{RLIMIT_STACK, kib << 10}}};
    const auto directory = fresh_directory("stack");
    for (const auto& [program, arguments] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {CERAR_TUNE, kTune},
             {CERAR_TUNE, {"check", intact_plan().string()}},
             {CERAR_BENCH, bench(intact_plan())}}) {
      const auto result = run_in(directory, program, arguments, options);
      EXPECT_EQ(result.exit_code, 0) << program << " with " << kib << " KiB: " << result.err;
    }
  }
}

TEST(FileSizeLimit, IsASentence) {
  for (const std::size_t bytes : {0, 4096, 20000}) {
    const CommandOptions options{.limits = {{RLIMIT_FSIZE, bytes}}};
    expect_refused(fresh_directory("filesize"), CERAR_TUNE, kTune, {"File too large"}, options);
  }
}

}  // namespace
}  // namespace cerar::test
