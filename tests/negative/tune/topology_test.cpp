// Topology files that cannot be used: each refused in one sentence with file, line and key, and nothing
// written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

constexpr char kTopology[] = R"(name: mine
title: a test
workers: 2
link:
  latency_us: 10
  bandwidth_gbs: 5
memory:
  bandwidth_gbs: 15
lanes: 2
baseline:
  name: another
  base_us: 3
  hop_us: 4
  bandwidth_gbs: 4.5
architectures: []
message_bytes: 65536
)";

void expect_file_refused(const std::string& text, const std::vector<std::string>& words) {
  const auto directory = fresh_directory("topology");
  write_text(directory / "mine.yaml", text);
  expect_refused(directory, CERAR_TUNE, {"--topology", "mine.yaml", "--out", "plan"}, words);
}

TEST(Topology, TheTextThatTheOthersAreMadeFromIsAccepted) {
  const auto directory = fresh_directory("topology");
  write_text(directory / "mine.yaml", kTopology);
  const auto result = run_in(directory, CERAR_TUNE, {"--topology", "mine.yaml", "--out", "plan"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(std::filesystem::exists(directory / "plan" / "plan.yaml"));
}

TEST(Topology, UnknownNameListsTheKnown) {
  expect_refused(fresh_directory("topology"), CERAR_TUNE, {"--topology", "a100-pci", "--out", "plan"},
                 {"'a100-pci'", "a100-nvlink, a100-pcie, ethernet-10g, ethernet-1g, local"});
}

TEST(Topology, NameWithALineBreakStaysOneLine) {
  expect_refused(fresh_directory("topology"), CERAR_TUNE, {"--topology", "a\nb", "--out", "plan"},
                 {"a\\x0ab"});
}

TEST(Topology, NoneGiven) {
  expect_refused(fresh_directory("topology"), CERAR_TUNE, {}, {"--topology is required", "--help"});
}

TEST(Topology, EmptyNameGiven) {
  expect_refused(fresh_directory("topology"), CERAR_TUNE, {"--topology", ""}, {"--topology is required"});
}

TEST(Topology, Directory) {
  const auto directory = fresh_directory("topology");
  std::filesystem::create_directory(directory / "folder");
  expect_refused(directory, CERAR_TUNE, {"--topology", "folder", "--out", "plan"}, {"folder is a directory"});
}

// The superuser may open everything, so this file opens and fails on reading.
TEST(Topology, Unreadable) {
  expect_refused(fresh_directory("topology"), CERAR_TUNE, {"--topology", "/proc/self/mem", "--out", "plan"},
                 {"/proc/self/mem cannot be read", "nput/output error"});
}

TEST(Topology, DanglingLink) {
  const auto directory = fresh_directory("topology");
  std::filesystem::create_symlink("nowhere", directory / "link.yaml");
  expect_refused(directory, CERAR_TUNE, {"--topology", "link.yaml", "--out", "plan"},
                 {"'link.yaml'", "neither"});
}

TEST(Topology, Empty) { expect_file_refused("", {"mine.yaml:1", "the document is not a map of keys"}); }

TEST(Topology, OnlyAComment) { expect_file_refused("# nothing\n", {"mine.yaml:1", "not a map of keys"}); }

// The name decides where the plan goes unless --out does.
TEST(Topology, LongNamesAreRefused) {
  auto text = std::string(kTopology);
  text.replace(text.find("mine"), 4, std::string(101, 'x'));
  expect_file_refused(text, {"mine.yaml:1", "at most 100 bytes"});
}

TEST(Topology, SecondDocument) {
  expect_file_refused(std::string(kTopology) + "---\nworkers: 3\n",
                      {"mine.yaml:1", "a second document begins here"});
  expect_file_refused(std::string(kTopology) + "---\n", {"a second document begins"});
  expect_file_refused("---\n---\n" + std::string(kTopology), {"a second document begins"});
}

TEST(Topology, OneDocumentWithItsMarks) {
  const auto directory = fresh_directory("topology");
  write_text(directory / "mine.yaml", "%YAML 1.2\n---\n" + std::string(kTopology) + "...\n");
  const auto result = run_in(directory, CERAR_TUNE, {"--topology", "mine.yaml", "--out", "plan"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Topology, List) { expect_file_refused("- 1\n- 2\n", {"mine.yaml:1", "not a map of keys"}); }

TEST(Topology, BinaryGarbage) {
  std::string bytes;
  for (unsigned i = 0, x = 1; i < 5000; ++i) bytes += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  expect_file_refused(bytes, {"mine.yaml:"});
}

TEST(Topology, HostLibraryInsteadOfText) {
  const auto directory = fresh_directory("topology");
  expect_refused(directory, CERAR_TUNE, {"--topology", CERAR_TUNE, "--out", "plan"},
                 {CERAR_TUNE, "holds more than"});
}

TEST(Topology, NestedTooDeep) {
  expect_file_refused("name: " + std::string(40, '[') + std::string(40, ']') + "\n",
                      {"mine.yaml:1", "32 levels"});
}

TEST(Topology, NestedBeyondAnyStack) { expect_file_refused(std::string(1000000, '['), {"mine.yaml:"}); }

TEST(Topology, AliasesThatMultiply) {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char key = 'b'; key < 'p'; ++key) {
    text += std::string(1, key) + ": &" + key + " [";
    for (int i = 0; i < 10; ++i)
      text += std::string("*") + static_cast<char>(key - 1) + (i < 9 ? ", " : "]\n");
  }
  expect_file_refused(text, {"mine.yaml:", "aliases"});
}

TEST(Topology, AliasOfItself) { expect_file_refused("a: &a [*a, *a]\n", {"mine.yaml:1"}); }

struct Edit {
  const char* name;
  const char* from;
  const char* to;
  std::vector<std::string> words;
};
void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

class TopologyFile : public testing::TestWithParam<Edit> {};

TEST_P(TopologyFile, IsRefused) {
  expect_file_refused(replaced(kTopology, GetParam().from, GetParam().to), GetParam().words);
}

const Edit kEdits[] = {
    {"Malformed", "lanes: 2", "lanes: [2", {"mine.yaml:", "malformed YAML"}},
    {"BadIndentation", "  bandwidth_gbs: 5\n", "   bandwidth_gbs: 5\n", {"mine.yaml:", "malformed YAML"}},
    {"Tab", "  latency_us", "\tlatency_us", {"mine.yaml:"}},
    {"DuplicateKey", "lanes: 2", "lanes: 2\nlanes: 3", {"mine.yaml:10", "lanes", "twice"}},
    {"DuplicateInnerKey",
     "  latency_us: 10",
     "  latency_us: 10\n  latency_us: 11",
     {"mine.yaml:6", "latency_us", "twice"}},
    {"UnknownKey", "lanes: 2", "lanes: 2\nlane: 3", {"mine.yaml:10", "lane ", "known are", "lanes"}},
    {"UnknownInnerKey",
     "  latency_us: 10",
     "  latency_us: 10\n  latency: 11",
     {"mine.yaml:6", "latency ", "latency_us"}},
    {"KeyWithLineBreak", "lanes: 2", "lanes: 2\n\"la\\nnes\": 3", {"mine.yaml:10", "la\\x0anes"}},
    {"KeyThatIsAList", "lanes: 2", "lanes: 2\n[a, b]: 3", {"mine.yaml:10", "key"}},
    {"MissingName", "name: mine\n", "", {"mine.yaml:", "lacks the key name"}},
    {"MissingWorkers", "workers: 2\n", "", {"mine.yaml:", "lacks the key workers"}},
    {"MissingLatency", "  latency_us: 10\n", "", {"mine.yaml:", "link lacks the key latency_us"}},
    {"MissingMemory", "memory:\n  bandwidth_gbs: 15\n", "", {"mine.yaml:", "lacks the key memory"}},
    {"MissingBaselineHop", "  hop_us: 4\n", "", {"mine.yaml:", "baseline lacks the key hop_us"}},
    {"EmptyName", "name: mine", "name: \"\"", {"mine.yaml:1", "name is empty"}},
    {"NameThatLeadsOut",
     "name: mine",
     "name: ../../tmp/mine",
     {"mine.yaml:1", "'../../tmp/mine'", "must be a file name"}},
    {"NameOfAnotherPlace",
     "name: mine",
     "name: /tmp/mine",
     {"mine.yaml:1", "'/tmp/mine'", "must be a file name"}},
    {"NameBelow", "name: mine", "name: a/b", {"mine.yaml:1", "'a/b'", "must be a file name"}},
    {"NameOfTheParent", "name: mine", "name: ..", {"mine.yaml:1", "'..'", "must be a file name"}},
    {"HiddenName", "name: mine", "name: .mine", {"mine.yaml:1", "'.mine'", "must be a file name"}},
    {"NameLikeAnOption", "name: mine", "name: -rf", {"mine.yaml:1", "'-rf'", "must be a file name"}},
    {"NameWithALineBreak", "name: mine", "name: \"a\\nb\"", {"mine.yaml:1", "a\\x0ab", "control characters"}},
    {"NameWithANul", "name: mine", "name: \"a\\0b\"", {"mine.yaml:1", "a\\x00b", "control characters"}},
    {"TitleWithAnEscape",
     "title: a test",
     "title: \"\\e[2J\"",
     {"mine.yaml:2", "title", "control characters"}},
    {"BaselineWithAnEscape",
     "name: another",
     "name: \"\\e[2J\"",
     {"mine.yaml:11", "baseline.name", "control characters"}},
    {"WordForANumber", "workers: 2", "workers: two", {"mine.yaml:3", "workers", "'two'", "whole number"}},
    {"FractionOfAWorker", "workers: 2", "workers: 2.5", {"mine.yaml:3", "workers", "'2.5'"}},
    {"NoWorkers", "workers: 2", "workers: 0", {"mine.yaml:3", "workers", "0", "1..4096"}},
    {"HugeWorkers",
     "workers: 2",
     "workers: 99999999999999999999",
     {"mine.yaml:3", "workers", "99999999999999999999"}},
    {"ListForANumber", "lanes: 2", "lanes: [2]", {"mine.yaml:9", "lanes", "single value"}},
    {"MapForANumber", "lanes: 2", "lanes: {a: 2}", {"mine.yaml:9", "lanes", "single value"}},
    {"NumberForAMap", "memory:\n  bandwidth_gbs: 15", "memory: 15", {"mine.yaml:7", "memory", "map"}},
    {"NothingForAMap", "  bandwidth_gbs: 15\n", "", {"mine.yaml:", "memory", "map"}},
    {"NegativeLatency", "latency_us: 10", "latency_us: -1", {"mine.yaml:5", "link.latency_us", "-1"}},
    {"NanLatency", "latency_us: 10", "latency_us: nan", {"mine.yaml:5", "link.latency_us", "nan", "finite"}},
    {"InfiniteLatency", "latency_us: 10", "latency_us: .inf", {"mine.yaml:5", "link.latency_us", ".inf"}},
    {"LatencyWithUnit", "latency_us: 10", "latency_us: 10us", {"mine.yaml:5", "link.latency_us", "'10us'"}},
    {"NoBandwidth", "bandwidth_gbs: 5", "bandwidth_gbs: 0", {"mine.yaml:6", "link.bandwidth_gbs", "0"}},
    {"BandwidthBeyondDouble",
     "bandwidth_gbs: 5",
     "bandwidth_gbs: 1e999",
     {"mine.yaml:6", "link.bandwidth_gbs", "1e999"}},
    {"NoLanes", "lanes: 2", "lanes: 0", {"mine.yaml:9", "lanes", "1..1024"}},
    {"BadArchitecture",
     "architectures: []",
     "architectures: [80]",
     {"mine.yaml:15", "architectures[0]", "'80'", "sm_80"}},
    {"ArchitecturesNotAList",
     "architectures: []",
     "architectures: sm_80",
     {"mine.yaml:15", "architectures", "list"}},
    {"BaselineFasterThanItsLink",
     "bandwidth_gbs: 4.5",
     "bandwidth_gbs: 6",
     {"mine.yaml:14", "baseline.bandwidth_gbs", "6", "link.bandwidth_gbs is 5"}},
};

INSTANTIATE_TEST_SUITE_P(Edited, TopologyFile, testing::ValuesIn(kEdits),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cerar::test
