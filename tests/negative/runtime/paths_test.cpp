// Paths that the system refuses: one sentence with its reason, through the C API and from the programs, and
// threads that have little stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/include/cerar.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/small_stack.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "kernels/ring-c2.host.so";

void expect_system_error(const fs::path& directory, const std::vector<std::string>& words) {
  cerarPlan_t plan = reinterpret_cast<cerarPlan_t>(&plan);
  EXPECT_EQ(cerarPlanLoad(&plan, directory.c_str()), cerarSystemError) << cerarGetLastError();
  EXPECT_EQ(plan, nullptr);
  expect_sentence(cerarGetLastError(), words);
  EXPECT_THAT(cerarGetLastError(), testing::Not(testing::HasSubstr("filesystem error")));
}

constexpr uid_t kNobody = 65534;

/// Permissions do not bind root.
void become(uid_t user) {
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
}

fs::path loop_in(const fs::path& directory) {
  fs::create_symlink("loop", directory / "loop");
  return directory / "loop";
}

std::string long_name() { return std::string(300, 'x'); }

std::string long_path() {
  std::string path = "/tmp";
  while (path.size() < 5000) path += "/xxxxxxxxxxxxxxxx";
  return path;
}

TEST(PlanPath, ALoopOfLinks) {
  expect_system_error(loop_in(fresh_directory("paths")), {"loop", "Too many levels of symbolic links"});
}

TEST(PlanPath, TooLong) {
  expect_system_error(long_name(), {"xxxx", "File name too long"});
  expect_system_error(long_path(), {"xxxx", "File name too long"});
}

TEST(PlanPath, ThroughADirectoryThatMayNotBeSearched) {
  const auto directory = fresh_directory("closed");
  fs::copy(exact_plan(), directory / "plan", fs::copy_options::recursive);
  fs::permissions(directory, fs::perms::none);
  become(kNobody);
  expect_system_error(directory / "plan", {"closed", "Permission denied"});
  become(0);
  fs::permissions(directory, fs::perms::owner_all);
}

// What is below may be read by name all the same.
TEST(PlanPath, ADirectoryThatMayNotBeListedIsLoaded) {
  const auto plan = copy_of(exact_plan());
  for (fs::path part = plan.parent_path(); part != part.root_path(); part = part.parent_path())
    if (part.string().find("cerar-") != std::string::npos) fs::permissions(part, fs::perms::all);
  fs::permissions(plan, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
  become(kNobody);
  cerarPlan_t loaded = nullptr;
  EXPECT_EQ(cerarPlanLoad(&loaded, plan.c_str()), cerarSuccess) << cerarGetLastError();
  become(0);
  cerarPlanFree(loaded);
  fs::permissions(plan, fs::perms::owner_all);
}

TEST(PlanPath, FilesThatAreLoopsOrPipes) {
  for (const char* file : {"plan.yaml", kLibrary}) {
    const auto plan = copy_of(exact_plan());
    fs::remove(plan / file);
    fs::create_symlink((plan / file).filename(), plan / file);
    expect_system_error(plan, {file, "Too many levels of symbolic links"});
    fs::remove(plan / file);
    ASSERT_EQ(::mkfifo((plan / file).c_str(), 0600), 0);
    expect_system_error(plan, {file, "a pipe where a file is expected"});
  }
}

TEST(PlanPath, ProgramsSayTheSame) {
  const auto directory = fresh_directory("paths");
  const std::string loop = loop_in(fresh_directory("loop")).string();
  for (const std::string& path : {loop, long_name(), long_path()}) {
    const std::string reason = path == loop ? "Too many levels of symbolic links" : "File name too long";
    const auto expect = [&](const std::string& program, const std::vector<std::string>& arguments) {
      const auto result = run_in(directory, program, arguments);
      EXPECT_EQ(result.exit_code, 1) << result.out;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_THAT(result.err, testing::HasSubstr(reason));
      EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("filesystem error")));
    };
    expect(CERAR_TUNE, {"show", path});
    expect(CERAR_TUNE, {"check", path});
    expect(CERAR_TUNE, {"--topology", path});
    expect(CERAR_TUNE, {"--topology", "local", "--out", path});
    expect(CERAR_TUNE, {"--topology", "local", "--out", path + "/plan"});
    expect(CERAR_TUNE, {"--topology", "local", "--pareto", "--plot", path + "/front.svg"});
    expect(CERAR_BENCH, {"--plan", path});
  }
  EXPECT_THAT(entries_below(directory), testing::IsEmpty());
}

TEST(PlanPath, InADirectoryThatWasRemoved) {
  const auto directory = fresh_directory("paths");
  const std::string tune = CERAR_TUNE;
  for (const char* arguments :
       {" --topology local --out plan", " --topology local --pareto --plot front.svg"}) {
    const auto result =
        run_command({"/bin/sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec " + tune + arguments},
                    {.directory = directory});
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_THAT(result.err, testing::HasSubstr("No such file or directory"));
    EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("filesystem error")));
  }
}

// Of 64 KiB the system's own library takes a part.
TEST(SmallStack, LoadsAPlanAndReduces) {
  on_small_stack(64, [] {
    cerarPlan_t plan = nullptr;
    ASSERT_EQ(cerarPlanLoad(&plan, exact_plan().c_str()), cerarSuccess) << cerarGetLastError();
    cerarComm_t comms[2] = {};
    ASSERT_EQ(cerarCommInitLocal(comms, 2, plan, nullptr), cerarSuccess) << cerarGetLastError();
    cerarPlanFree(plan);
    std::vector<float> mine(5000, 1), theirs(5000, 2);
    std::jthread other([&] {
      on_small_stack(64, [&] {
        EXPECT_EQ(cerarAllReduce(theirs.data(), theirs.data(), theirs.size(), cerarFloat32, cerarSum,
                                 comms[1], nullptr),
                  cerarSuccess);
      });
    });
    EXPECT_EQ(
        cerarAllReduce(mine.data(), mine.data(), mine.size(), cerarFloat32, cerarSum, comms[0], nullptr),
        cerarSuccess)
        << cerarGetLastError();
    other.join();
    EXPECT_EQ(mine, std::vector<float>(5000, 3));
    EXPECT_EQ(theirs, mine);
    for (cerarComm_t comm : comms) cerarCommDestroy(comm);
  });
}

}  // namespace
}  // namespace cerar::test
