// Plan directories that change while a process uses them: a plan that is loaded is complete, and nothing that
// happens to its directory shows in results.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "generator/publish.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/measure/measure.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;
using runtime::Construction;
using runtime::load_plan_at;
using runtime::LocalRanks;
using runtime::UniquePlan;

/// Two plans whose files and kernels have the same names, and give each other's ranks wrong results.
std::string small_plan() { return plan_directory(Construction::differential, 4, 16); }
std::string large_plan() { return plan_directory(Construction::differential, 8, 16); }

/// Sums are as the plan claims, of which the call's own report says how much that is.
void expect_claim(const LocalRanks& ranks) {
  const auto errors = runtime::measure_errors(ranks, {.count = 20001, .input = runtime::Input::normal});
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  runtime::require_success(cerarCommLastCall(ranks.comm(0), &info));
  EXPECT_GT(errors.relative_rms, 0.5 * info.claimed_error);
  EXPECT_LT(errors.relative_rms, 1.3 * info.claimed_error);
  EXPECT_EQ(errors.wrong, 0u);
}

/// What replaces a plan: its files, written and published as cerar-tune does.
class Publisher {
 public:
  explicit Publisher(const fs::path& plan) {
    for (const auto& entry : fs::recursive_directory_iterator(plan))
      if (entry.is_regular_file()) files_[entry.path().lexically_relative(plan)] = read_file(entry.path());
  }
  void publish(const fs::path& destination) const {
    generator::StagedDirectory directory(destination, /*replace=*/true);
    for (const auto& [file, bytes] : files_) directory.write(file, bytes);
    directory.publish();
  }

 private:
  std::map<fs::path, std::string> files_;
};

class Replaced : public ::testing::Test {
 protected:
  TemporaryDirectory scratch;
  const fs::path plan = scratch.path() / "plan";
};

TEST_F(Replaced, APlanTunedAgainAtTheSamePathBringsItsOwnKernels) {
  Publisher(small_plan()).publish(plan);
  const auto before = load_plan_at(plan);
  const LocalRanks four(before.get(), 4);
  expect_claim(four);
  Publisher(large_plan()).publish(plan);
  const auto after = load_plan_at(plan);
  const LocalRanks eight(after.get(), 8);
  expect_claim(eight);
  expect_claim(four);
  expect_claim(LocalRanks(before.get(), 4));
}

// Files keep their inodes.
TEST_F(Replaced, APlanRewrittenInPlaceBringsItsOwnKernels) {
  fs::copy(small_plan(), plan, fs::copy_options::recursive);
  const auto before = load_plan_at(plan);
  const LocalRanks four(before.get(), 4);
  fs::copy(large_plan(), plan, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const auto after = load_plan_at(plan);
  expect_claim(LocalRanks(after.get(), 8));
  expect_claim(four);
}

TEST_F(Replaced, ALinkThatIsTurnedAfterLoadingChangesNothing) {
  fs::create_directory_symlink(small_plan(), plan);
  const auto held = load_plan_at(plan);
  fs::remove(plan);
  fs::create_directory_symlink(large_plan(), plan);
  expect_claim(LocalRanks(held.get(), 4));
}

TEST_F(Replaced, NothingOfTheDirectoryIsNeededAfterLoading) {
  Publisher(small_plan()).publish(plan);
  const fs::path home = fs::current_path();
  fs::current_path(scratch.path());
  const auto held = load_plan_at("plan");
  fs::current_path("/");
  fs::remove_all(plan);
  const LocalRanks ranks(held.get(), 4);
  fs::current_path(home);
  expect_claim(ranks);
}

TEST_F(Replaced, PlansLoadedInTurnsKeepApart) {
  for (int i = 0; i < 10; ++i) {
    expect_claim(LocalRanks(small_plan(), 4));
    expect_claim(LocalRanks(large_plan(), 8));
  }
}

TEST_F(Replaced, LoadingWhileAPlanIsReplacedGivesTheOneOrTheOther) {
  const Publisher small(small_plan()), large(large_plan());
  small.publish(plan);
  constexpr int kLoads = 1000, kReplacements = 300;
  std::atomic<bool> enough{false};
  std::atomic<int> replacements{0};
  std::jthread replacing([&] {
    for (; !enough; ++replacements) (replacements % 2 ? small : large).publish(plan);
  });
  struct Ending {
    std::atomic<bool>& enough;
    ~Ending() { enough = true; }
  } const ending{enough};  // also of a test that fails
  int loads = 0, seen[2] = {};
  for (; loads < kLoads || replacements < kReplacements; ++loads) {
    UniquePlan held;
    ASSERT_NO_THROW(held = load_plan_at(plan)) << "load " << loads << ": " << cerarGetLastError();
    int workers = 0;
    cerarPlanWorkers(held.get(), &workers);
    ASSERT_TRUE(workers == 4 || workers == 8);
    ++seen[workers == 8];
    if (loads % 50 == 0) expect_claim(LocalRanks(held.get(), workers));
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
}

}  // namespace
}  // namespace cerar::test
