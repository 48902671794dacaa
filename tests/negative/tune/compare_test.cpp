// cerar-tune compare: the constructions for equal c, or why there is none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

TEST(Compare, BadOptionsAreRefused) {
  const auto directory = fresh_directory("compare");
  expect_refused(directory, CERAR_TUNE, {"compare", "--workers", "2"}, {"--workers is 2", "3..256"});
  expect_refused(directory, CERAR_TUNE, {"compare", "--workers", "257"}, {"--workers is 257"});
  expect_refused(directory, CERAR_TUNE, {"compare", "--components", "16,0"}, {"--components has 0"});
  expect_refused(directory, CERAR_TUNE, {"compare", "--components", "x"}, {"--components", "x"});
  expect_refused(directory, CERAR_TUNE, {"compare", "--out", "plan"}, {"--out"});
}

TEST(Compare, TableAndJsonAgreeAndEveryGapHasItsReason) {
  const auto directory = fresh_directory("compare");
  const std::vector<std::string> command = {"compare", "--workers", "4", "--components", "4,8,12,16"};
  auto as_json = command;
  as_json.emplace_back("--json");
  const auto table = run_in(directory, CERAR_TUNE, command);
  const auto result = run_in(directory, CERAR_TUNE, as_json);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("codes").size(), 16u);
  double harmonic = 0;
  int refused = 0;
  for (const auto& code : json.at("codes")) {
    const std::string name = code.at("construction");
    const int c = code.at("components");
    if (!code.contains("errors")) {
      ++refused;
      EXPECT_THAT(table.out, testing::HasSubstr(fmt::format("{} c = {}", name, c)));
      EXPECT_THAT(table.out, testing::HasSubstr(code.at("refusal").get<std::string>()));
      continue;
    }
    const double error = code.at("errors").at("total");
    EXPECT_THAT(table.out, testing::ContainsRegex(fmt::format("{} +{} +{:.2e}", name, c, error)));
    if (name == "harmonic") harmonic = error;
    // What the table is for: optimising helps, and beyond r = 2 a differential code is far more exact.
    if (name == "optimized") {
      EXPECT_LE(error, harmonic * (1 + 1e-4));  // equal at r = 2, but for rounding of tables
    }
    if (name == "differential" && c > 8) {
      EXPECT_LT(error, 0.2 * harmonic);
    }
  }
  EXPECT_GE(refused, 4) << "c = 4 is exact";
}

TEST(Compare, TheNumbersOfComponentsFollowTheWorkers) {
  const auto result = run_in(fresh_directory("compare"), CERAR_TUNE, {"compare", "--workers", "3", "--json"});
  std::set<int> components;
  const auto json = nlohmann::json::parse(result.out);
  for (const auto& code : json.at("codes")) components.insert(code.at("components").get<int>());
  EXPECT_EQ(components, (std::set<int>{4, 6, 9, 12, 24}));
}

}  // namespace
}  // namespace cerar::test
