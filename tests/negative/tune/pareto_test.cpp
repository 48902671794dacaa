// cerar-tune --pareto: table, JSON and plot say the same, and what it cannot serve is refused with nothing
// written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/program/text.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;
using program::number_text;

std::vector<std::string> front_of(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"--topology", "ethernet-10g", "--workers", "4", "--pareto"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

CommandResult run_front(const fs::path& directory, const std::vector<std::string>& more) {
  CommandResult result = run_in(directory, CERAR_TUNE, front_of(more));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result;
}

class ParetoOptions : public testing::TestWithParam<RefusedCase> {};

TEST_P(ParetoOptions, AreRefused) {
  expect_refused(fresh_directory("pareto"), CERAR_TUNE, front_of(GetParam().arguments), GetParam().words);
}

const RefusedCase kCases[] = {
    {"OutputDirectory", {"--out", "plan"}, {"--out", "--pareto", "leave one"}},
    {"Architecture", {"--arch", "sm_80"}, {"--arch", "--pareto"}},
    {"Keep", {"--keep"}, {"--keep", "--pareto"}},
    {"SizeAsAWord", {"--size", "large"}, {"'large'", "such as"}},
    {"SizeOfNothing", {"--size", "0"}, {"--size is 0", "such as 256M"}},
    {"NegativeSize", {"--size", "-1M"}, {"'-1M'"}},
    {"EndlessSize", {"--size", "99999999999G"}, {"'99999999999G'", "4096G"}},
    {"PlotOfAnUnknownKind", {"--plot", "front.pdf"}, {"'front.pdf'", ".svg", ".png"}},
    {"PlotOfNoKind", {"--plot", "front"}, {"'front'", ".svg", ".png"}},
    {"PlotWithoutParent", {"--plot", "missing/front.svg"}, {"missing/front.svg", "No such file"}},
    {"PlotOnADirectory", {"--plot", "/proc/.svg/x.svg"}, {"/proc/.svg/x.svg"}},
    {"PlotWhereNoFilesGo", {"--plot", "/proc/front.svg"}, {"/proc/front.svg", "cannot be written"}},
    {"PlotWithALongName", {"--plot", std::string(300, 'x') + ".png"}, {"xxx", "too long"}},
    {"NoError", {"--construction", "harmonic", "--max-error", "1e-9"}, {"an error of 1e-09", "allow more"}},
    {"NegativeError", {"--max-error", "-1"}, {"--max-error is -1"}},
    {"Components", {"--components", "0"}, {"--components is 0"}},
    {"DifferentialC5", {"--construction", "differential", "--components", "5"}, {"components is 5"}},
    {"Type", {"--dtype", "f64"}, {"--dtype is 'f64'", "f32, bf16, f16"}},
};

INSTANTIATE_TEST_SUITE_P(Tune, ParetoOptions, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Pareto, SizeAndPlotAreNothingWithoutIt) {
  const auto directory = fresh_directory("pareto");
  expect_refused(directory, CERAR_TUNE, {"--topology", "local", "--size", "1M"}, {"--size", "--pareto"});
  expect_refused(directory, CERAR_TUNE, {"--topology", "local", "--plot", "x.svg"}, {"--plot", "--pareto"});
}

TEST(Pareto, OneWorker) {
  expect_refused(fresh_directory("pareto"), CERAR_TUNE,
                 {"--topology", "local", "--workers", "1", "--pareto", "--plot", "x.svg"},
                 {"1 worker", "two or more"});
}

TEST(Pareto, PlotThatIsADirectory) {
  const auto directory = fresh_directory("pareto");
  fs::create_directory(directory / "front.svg");
  expect_refused(directory, CERAR_TUNE, front_of({"--plot", "front.svg"}), {"front.svg", "Is a directory"});
}

TEST(Pareto, PlotBelowAFile) {
  const auto directory = fresh_directory("pareto");
  write_text(directory / "thesis", "irreplaceable");
  expect_refused(directory, CERAR_TUNE, front_of({"--plot", "thesis/front.svg"}), {"thesis/front.svg"});
  EXPECT_EQ(read_text(directory / "thesis"), "irreplaceable");
}

// With this instead of gnuplot the old plot must survive.
void expect_plot_refused(const fs::path& programs, const std::vector<std::string>& words) {
  const auto directory = fresh_directory("pareto");
  write_text(directory / "front.svg", "the old one");
  expect_refused(directory, CERAR_TUNE, front_of({"--plot", "front.svg"}), words,
                 {.environment = {"PATH=" + programs.string()}});
  EXPECT_EQ(read_text(directory / "front.svg"), "the old one");
}

fs::path false_gnuplot(const std::string& script, fs::perms mode = fs::perms::owner_all) {
  const auto directory = fresh_directory("programs");
  write_text(directory / "gnuplot", "#!/bin/sh\n" + script);
  fs::permissions(directory / "gnuplot", mode);
  return directory;
}

TEST(Gnuplot, Missing) { expect_plot_refused("/nonexistent", {"no gnuplot on PATH", "gnuplot-nox"}); }
TEST(Gnuplot, NotAProgram) {
  expect_plot_refused(false_gnuplot("", fs::perms::owner_read), {"gnuplot", "Permission denied"});
}
TEST(Gnuplot, Fails) {
  expect_plot_refused(false_gnuplot("echo half a plot; echo 'line 0: no terminal' >&2; exit 3\n"),
                      {"exit code 3", "(line 0: no terminal)"});
}
TEST(Gnuplot, DrawsNothing) {
  expect_plot_refused(false_gnuplot("exit 0\n"), {"exit code 0", "gnuplot-nox"});
}
TEST(Gnuplot, IsKilled) { expect_plot_refused(false_gnuplot("kill -9 $$\n"), {"signal 9"}); }

// The columns of a line of the table; "exact" stands for an error of 0.
std::vector<std::string> columns(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(Pareto, TableAndJsonAgree) {
  const auto directory = fresh_directory("pareto");
  const auto json = nlohmann::json::parse(run_front(directory, {"--json", "--size", "64M"}).out);
  EXPECT_EQ(json.at("bytes"), 64 << 20);
  EXPECT_EQ(json.at("workers"), 4);
  std::istringstream table(run_front(directory, {"--size", "64M"}).out);
  EXPECT_THAT(entries_below(directory), testing::IsEmpty());
  std::string line;
  while (std::getline(table, line) && line.rfind("construction", 0) != 0) EXPECT_FALSE(table.eof());
  const auto& points = json.at("points");
  EXPECT_GT(points.size(), 20u);
  for (const auto& point : points) {
    ASSERT_TRUE(std::getline(table, line));
    const auto words = columns(line);
    ASSERT_GE(words.size(), 10u) << line;
    EXPECT_EQ(words[0], point.at("construction"));
    const auto& limit = point.at("condition_limit");
    EXPECT_EQ(words[1], limit.is_string() ? limit.get<std::string>() : number_text(limit.get<double>()));
    EXPECT_EQ(words[2], std::to_string(point.at("components").get<int>()));
    EXPECT_EQ(words[3], point.at("wire"));
    const double error = point.at("errors").at("total");
    EXPECT_EQ(words[7], error == 0 ? "exact" : fmt::format("{:.2e}", error));
    EXPECT_EQ(words[8], fmt::format("{:.0f}", point.at("time_us").get<double>()));
    EXPECT_EQ(words[9], fmt::format("{:.3f}", point.at("time_ratio").get<double>()));
    EXPECT_DOUBLE_EQ(point.at("time_ratio"),
                     point.at("time_us").get<double>() / json.at("baseline_us").get<double>());
    EXPECT_EQ(words.size() == 11 && words[10] == "front", point.at("front").get<bool>()) << line;
  }
  EXPECT_FALSE(std::getline(table, line)) << line;
}

TEST(Numbers, AreWrittenAsPeopleDo) {
  EXPECT_EQ(number_text(10), "10");
  EXPECT_EQ(number_text(1000), "1000");
  EXPECT_EQ(number_text(1e4), "1e4");
  EXPECT_EQ(number_text(2.5e12), "2.5e12");
  EXPECT_EQ(number_text(1.5), "1.5");
}

TEST(Pareto, LimitsOfASearchLimitTheFront) {
  const auto json = nlohmann::json::parse(
      run_front(fresh_directory("pareto"), {"--json", "--max-error", "2e-3", "--construction", "optimized"})
          .out);
  int approximate = 0;
  for (const auto& point : json.at("points")) {
    EXPECT_LE(point.at("errors").at("total").get<double>(), 2e-3);
    EXPECT_THAT(point.at("construction"), testing::AnyOf("ring", "optimized"));
    approximate += point.at("construction") == "optimized";
  }
  EXPECT_GT(approximate, 1);
}

TEST(Pareto, SvgIsWellFormedAndTheSameTwice) {
  const auto directory = fresh_directory("pareto");
  const auto result = run_front(directory, {"--plot", "front.svg"});
  EXPECT_THAT(result.out, testing::HasSubstr("plot: front.svg\n"));
  write_text(directory / "again.svg", "an older plot");
  run_front(directory, {"--plot", "again.svg"});
  EXPECT_THAT(entries_below(directory), testing::ElementsAre("again.svg", "front.svg"));
  const std::string svg = read_text(directory / "front.svg");
  EXPECT_EQ(svg, read_text(directory / "again.svg"));
  for (const char* word : {"width=\"800\"", "c=8", "differential", "Gloo ring", "0.01 %", "exact"})
    EXPECT_THAT(svg, testing::HasSubstr(word));
  const auto parsed =
      run_in(directory, CERAR_PYTHON, {"-c", "import xml.dom.minidom; xml.dom.minidom.parse('front.svg')"});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
}

TEST(Pareto, PngIsWhole) {
  const auto directory = fresh_directory("pareto");
  run_front(directory, {"--plot", "front.png"});
  const std::string png = read_text(directory / "front.png");
  ASSERT_GT(png.size(), 1000u);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

// A topology file is data: what it says is drawn, not done.
TEST(Pareto, TitlesGiveNoOrdersToGnuplot) {
  const auto directory = fresh_directory("pareto");
  write_text(
      directory / "mine.yaml",
      "name: mine\ntitle: \"x' ; system('touch done') ; `touch done` \\\"$(touch done) <&\"\nworkers: 3\n"
      "link: {latency_us: 20, bandwidth_gbs: 1}\nmemory: {bandwidth_gbs: 10}\nlanes: 2\n"
      "message_bytes: 65536\n");
  const auto result =
      run_in(directory, CERAR_TUNE, {"--topology", "mine.yaml", "--pareto", "--plot", "front.svg"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(entries_below(directory), testing::ElementsAre("front.svg", "mine.yaml"));
  EXPECT_THAT(read_text(directory / "front.svg"), testing::HasSubstr("`touch done`"));
  const auto parsed =
      run_in(directory, CERAR_PYTHON, {"-c", "import xml.dom.minidom; xml.dom.minidom.parse('front.svg')"});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
}

}  // namespace
}  // namespace cerar::test
