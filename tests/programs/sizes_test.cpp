// Sizes as people type them, and the memory that they need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/program/available_memory.h"
#include "runtime/program/text.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;
using program::parse_size;
using program::sizes_between;

TEST(Sizes, AreReadAsPeopleTypeThem) {
  constexpr std::uint64_t kKibi = 1024;
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("010"), 10u);
  for (const char* text : {"8b", "8B", "8 B"}) EXPECT_EQ(parse_size(text), 8u) << text;
  for (const char* text : {"64K", "64k", "64KB", "64kb", "64KiB", "64kib", "64Kib", "64 KiB", "65536"})
    EXPECT_EQ(parse_size(text), 64 * kKibi) << text;
  for (const char* text : {"1M", "1m", "1MB", "1MiB"}) EXPECT_EQ(parse_size(text), kKibi * kKibi) << text;
  for (const char* text : {"1G", "1g", "1GB", "1GiB"})
    EXPECT_EQ(parse_size(text), kKibi * kKibi * kKibi) << text;
  for (const char* text : {"4T", "4t", "4TiB", "4096G"}) EXPECT_EQ(parse_size(text), kKibi << 32) << text;
}

TEST(Sizes, OthersAreRefused) {
  for (const char* text : {"", "K", "much", "-5", "+5", "1.5M", "4X", "4i", "4iB", "4KK", "4Ki B", "1e6",
                           "0x10", " 4", "4 ", "4097G", "5T", "99999999999999999999", "4K\n"})
    EXPECT_THROW(parse_size(text), Error) << text;
}

TEST(Sizes, GrowByTheFactor) {
  EXPECT_EQ(sizes_between("8", "64", 2), (std::vector<std::uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sizes_between("8", "70", 2), (std::vector<std::uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sizes_between("1k", "1K", 2), (std::vector<std::uint64_t>{1024}));
  EXPECT_EQ(sizes_between("0", "0", 2), (std::vector<std::uint64_t>{0}));
}

TEST(Sizes, ASmallFactorReachesTheEnd) {
  const auto sizes = sizes_between("1M", "64M", 1.001);
  EXPECT_GT(sizes.size(), 4000u);
  EXPECT_GT(static_cast<double>(sizes.back()) * 1.001, 64.0 * 1048576);
  EXPECT_LE(sizes.back(), std::uint64_t{64} << 20);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end(), std::less_equal<>())) << "no size twice";
}

TEST(Sizes, AFactorOfTooManySizesIsRefused) {
  for (const double factor : {1.0001, 1 + 1e-9, 1 + 1e-15})
    EXPECT_THROW(sizes_between("1M", "64M", factor), Error) << factor;
  expect_refused(fresh_directory("sizes"), CERAR_BENCH, {"--plan", exact_plan().string(), "-f", "1.0001"},
                 {"factor 1.0001", "41592", "10000", "larger factor"});
}

TEST(Sizes, ARangeThatStaysAtZeroIsRefused) { EXPECT_THROW(sizes_between("0", "64M", 2), Error); }

TEST(Sizes, TheTunerReadsThemToo) {
  const auto front = [](const std::string& size) {
    return run_in(fresh_directory("sizes"), CERAR_TUNE,
                  {"--topology", "local", "--workers", "2", "--pareto", "--size", size});
  };
  const auto expected = front("1G");
  EXPECT_THAT(expected.out, testing::HasSubstr("vectors of 1 GiB"));
  for (const char* size : {"1g", "1GiB", "1 gb", "1024M", "1073741824"})
    EXPECT_EQ(front(size).out, expected.out) << size;
}

/// A machine that is told of in files.
fs::path machine(const std::string& groups) {
  const auto root = fresh_directory("machine");
  fs::create_directories(root / "proc/self");
  fs::create_directories(root / "sys/fs/cgroup/job/step");
  write_text(root / "proc/meminfo",
             "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:   300 kB\nSwapTotal: 90 kB\nSwapFree: 20 kB\n");
  write_text(root / "proc/self/cgroup", groups);
  write_text(root / "proc/self/statm", "10 1 1 1 0 5 0\n");
  return root;
}

std::uint64_t bound(const std::vector<program::MemoryBound>& bounds, const std::string& name) {
  for (const auto& bound : bounds)
    if (bound.name.find(name) != std::string::npos) return bound.bytes;
  ADD_FAILURE() << "no bound is called " << name;
  return 0;
}

TEST(Memory, OfTheMachineAndOfEachControlGroup) {
  const auto root = machine("0::/job/step\n");
  const fs::path job = root / "sys/fs/cgroup/job";
  write_text(job / "memory.max", "200000\n");
  write_text(job / "memory.current", "150000\n");
  write_text(job / "memory.stat", "anon 1\ninactive_file 40000\nactive_file 3\n");
  write_text(job / "step/memory.max", "max\n");
  write_text(job / "step/memory.current", "150000\n");
  const auto bounds = program::memory_bounds(root);
  EXPECT_EQ(bound(bounds, "of this machine"), 320u * 1024);
  EXPECT_EQ(bound(bounds, "control group /job"), 90000u) << "files that nothing reads any more give way";
  for (const auto& bound : bounds)
    EXPECT_EQ(bound.name.find("/job/step"), std::string::npos) << "has no limit";
}

TEST(Memory, OfGroupsOfTheFirstVersion) {
  const auto root = machine("9:cpu,memory:/job/step\n0::/\n");
  const fs::path job = root / "sys/fs/cgroup/memory/job";
  fs::create_directories(job / "step");
  write_text(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write_text(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
  write_text(job / "step/memory.limit_in_bytes", "1000\n");
  write_text(job / "step/memory.usage_in_bytes", "4000\n");
  EXPECT_EQ(bound(program::memory_bounds(root), "control group /job/step"), 0u);
  EXPECT_EQ(program::memory_bounds(root).size(),
            program::memory_bounds(fresh_directory("machine")).size() + 2);
}

TEST(Memory, SizesBeyondTheMachineAreRefusedBeforeAnythingIsMeasured) {
  expect_refused(fresh_directory("memory"), CERAR_BENCH,
                 {"--plan", exact_plan().string(), "-b", "1K", "-e", "1T", "-f", "1024"},
                 {"vectors of ", "GiB for 2 ranks", "leaves", "choose a smaller -e"});
}

TEST(Memory, SizesBeyondItsLimitAreRefusedBeforeAnythingIsMeasured) {
  SKIP_WITH_SANITIZERS("need the address space");
  expect_refused(
      fresh_directory("memory"), CERAR_BENCH,
      {"--plan", exact_plan().string(), "-b", "1K", "-e", "1G", "-f", "1024", "--json"},
      {"vectors of 1073741824 bytes need 8.00 GiB for 2 ranks", "ulimit -v", "choose a smaller -e"},
      {.memory_limit = std::size_t{2} << 30});
}

}  // namespace
}  // namespace cerar::test
