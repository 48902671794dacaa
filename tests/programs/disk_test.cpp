// Disks without room and disks that run no code: a sentence that names them, and nothing left behind. On
// small file systems of their own, in a name space of mounts; skipped where that is not permitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

struct OnDisk {
  CommandResult command;
  std::string left;  ///< names of what is on the disk afterwards
};

// $1 is where it is mounted, $2 its options, $3 where to say what is left; then the command.
constexpr char kScript[] = R"(
disk=$1 options=$2 left=$3
shift 3
mount -t tmpfs -o "$options" cerar-test "$disk" || exit 126
mkdir "$disk/tmp" "$disk/plans"
"$@"
code=$?
cd "$disk" && find . -mindepth 2 >"$left"
exit $code
)";

std::vector<std::string> in_a_name_space() {
  return {"/usr/bin/unshare", ::geteuid() == 0 ? "-m" : "-rm", "/bin/sh", "-c", kScript, "sh"};
}

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/unshare") || run("size=64k", "/bin/true", {}).command.exit_code != 0)
      GTEST_SKIP() << "no file system can be mounted here";
  }

  /// On a new disk; temporary files go to its "tmp", or to `temporary_`.
  OnDisk run(const std::string& options, const std::string& program,
             const std::vector<std::string>& arguments) {
    const auto left = directory_ / "left";
    auto words = in_a_name_space();
    for (const std::string& word : {disk_.string(), options, left.string(), program}) words.push_back(word);
    words.insert(words.end(), arguments.begin(), arguments.end());
    OnDisk result{
        run_command(words, {.directory = directory_, .environment = {"TMPDIR=" + temporary_.string()}}), {}};
    if (fs::exists(left)) result.left = read_text(left);
    return result;
  }

  fs::path directory_ = fresh_directory("disk"), disk_ = fresh_directory("mount");
  fs::path temporary_ = disk_ / "tmp";
};

const std::vector<std::string> kTune = {"--topology",   "local", "--workers", "4",
                                        "--components", "8",     "--out",     "plan"};

// From no room at all to enough, past every file that the compiler and the linker write.
TEST_F(Disk, FullOfTemporaryFilesIsASentence) {
  int refused = 0, made = 0;
  for (int kilobytes = 4; kilobytes <= 64; kilobytes += 8) {
    const auto result = run("size=" + std::to_string(kilobytes) + "k", CERAR_TUNE, kTune);
    EXPECT_EQ(result.left, "") << kilobytes;
    if (result.command.exit_code == 0) {
      EXPECT_EQ(runtime::load_plan(directory_ / "plan").workers, 4);
      ++made;
      if (kilobytes > 32) break;
      continue;
    }
    ++refused;
    expect_refusal(result.command, {(disk_ / "tmp").string(), "No space left on device", "TMPDIR"});
    if (made == 0) {
      EXPECT_FALSE(fs::exists(directory_ / "plan"));
    }
  }
  EXPECT_GE(refused, 1);
  EXPECT_GE(made, 1);
}

TEST_F(Disk, FullOfNamesIsASentence) {
  for (int inodes = 3; inodes <= 5; ++inodes) {  // of the root, "tmp" and "plans" three
    const auto result = run("size=1m,nr_inodes=" + std::to_string(inodes), CERAR_TUNE, kTune);
    EXPECT_EQ(result.left, "") << inodes;
    expect_refusal(result.command, {(disk_ / "tmp").string(), "No space left on device", "TMPDIR"});
  }
}

TEST_F(Disk, FullWhereAPlanIsCheckedIsASentence) {
  const auto result = run("size=8k", CERAR_TUNE, {"check", intact_plan().string()});
  EXPECT_EQ(result.command.signal, 0);
  EXPECT_EQ(result.command.exit_code, 1);
  EXPECT_EQ(result.left, "");
  EXPECT_THAT(result.command.err, testing::AllOf(testing::HasSubstr((disk_ / "tmp").string()),
                                                 testing::HasSubstr("No space left on device")));
}

TEST_F(Disk, FullWhereThePlanGoesIsASentence) {
  const auto out = disk_ / "plans" / "plan";
  auto arguments = kTune;
  arguments.back() = out.string();
  temporary_ = directory_;
  for (const auto* size : {"size=4k", "size=12k"}) {
    const auto result = run(size, CERAR_TUNE, arguments);
    expect_refusal(result.command, {(disk_ / "plans").string(), "No space left on device"});
    EXPECT_EQ(result.left, "");
  }
}

TEST_F(Disk, FullWhereThePlotGoesIsASentence) {
  temporary_ = directory_;
  const auto plot = (disk_ / "plans" / "front.svg").string();
  const auto result =
      run("size=4k", CERAR_TUNE, {"--topology", "local", "--workers", "4", "--pareto", "--plot", plot});
  expect_refusal(result.command, {plot, "No space left on device", "choose another file"});
  EXPECT_EQ(result.left, "");
}

// Kernels are run from memory: neither plans nor temporary files need a disk that runs code.
TEST_F(Disk, WithoutExecutionServesAsWell) {
  const std::string plan = (disk_ / "plans" / "plan").string();
  const auto result = run(
      "size=4m,noexec", "/bin/sh",
      {"-c",
       R"("$0" --topology local --workers 2 --out "$2" && "$1" --plan "$2" -b 1K -e 1K && "$0" check "$2")",
       CERAR_TUNE, CERAR_BENCH, plan});
  EXPECT_EQ(result.command.exit_code, 0) << result.command.err;
  EXPECT_THAT(result.command.out, testing::EndsWith(plan + ": holds what it claims\n"));
  EXPECT_THAT(result.left, testing::Not(testing::HasSubstr("/tmp/")));
}

}  // namespace
}  // namespace cerar::test
