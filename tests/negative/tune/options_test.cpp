// Command lines that cerar-tune cannot serve: refused in one sentence, and nothing written, not even `plans`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "generator/compile/nvrtc_compiler.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

class Options : public testing::TestWithParam<RefusedCase> {};

TEST_P(Options, AreRefused) {
  std::vector<std::string> arguments = {"--topology", "local"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  expect_refused(fresh_directory("options"), CERAR_TUNE, arguments, GetParam().words);
}

const RefusedCase kCases[] = {
    {"NoWorkers", {"--workers", "0"}, {"--workers is 0", "1..256"}},
    {"NegativeWorkers", {"--workers", "-1"}, {"--workers is -1", "1..256"}},
    {"ManyWorkers", {"--workers", "100000"}, {"--workers is 100000", "1..256"}},
    {"WorkersBeyondInt", {"--workers", "99999999999"}, {"--workers", "99999999999", "--help"}},
    {"WorkersAsAWord", {"--workers", "four"}, {"--workers", "four", "--help"}},
    {"WorkersWithoutValue", {"--workers"}, {"--workers", "--help"}},
    {"NegativeError", {"--max-error", "-0.001"}, {"--max-error is -0.001", "0 (exact codes only) or more"}},
    {"NanError", {"--max-error", "nan"}, {"--max-error is nan"}},
    {"InfiniteError", {"--max-error", "inf"}, {"--max-error is inf"}},
    {"ErrorAsAWord", {"--max-error", "small"}, {"--max-error", "small"}},
    {"ConditionBelowOne", {"--max-condition", "0.5"}, {"--max-condition is 0.5", "below 1"}},
    {"NegativeCondition", {"--max-condition", "-3"}, {"--max-condition is -3"}},
    {"NanCondition", {"--max-condition", "nan"}, {"--max-condition is nan"}},
    {"UnknownConstruction",
     {"--construction", "fourier"},
     {"'fourier'", "ring, unimodular, harmonic, vandermonde, optimized, differential"}},
    {"OptimizedWithinNoCondition",
     {"--construction", "optimized", "--max-condition", "1.5"},
     {"condition limit 1.5", "raise it"}},
    {"HarmonicWithinNoCondition",
     {"--construction", "harmonic", "--max-condition", "1.5"},
     {"condition limit 1.5", "raise it"}},
    {"DifferentialWithinNoCondition",
     {"--construction", "differential", "--max-condition", "1"},
     {"--max-condition 1;", "the closest is differential", " 1.000"}},
    {"ComponentsWithinNoCondition",
     {"--construction", "optimized", "--components", "8", "--max-condition", "1.5"},
     {"condition limit 1.5", "raise it"}},
    {"ExactComponentsWithinNoCondition",
     {"--components", "3", "--max-condition", "2"},
     {"--max-condition 2;", "the closest is unimodular with c = 3", " 3.7"}},
    {"ComponentsThatTheConstructionLacks",
     {"--construction", "differential", "--components", "4"},
     {"differential", "4 components", "from 8 on"}},
    {"MixedComponentsWithoutABudget",
     {"--components", "3", "--max-error", "0"},
     {"no requested code meets --max-error 0;", "unimodular with c = 3", "raise it to"}},
    {"UnimodularWithoutABudget",
     {"--workers", "8", "--construction", "unimodular", "--max-error", "0"},
     {"--max-error 0;", "the closest is unimodular with c = ", "raise it to"}},
    {"MixedComponentsOfTheRing",
     {"--construction", "ring", "--components", "3"},
     {"components is 3", "choose a divisor of 4", "another construction"}},
    {"UnimodularBeyondTheWorkers",
     {"--construction", "unimodular", "--components", "6"},
     {"components is 6", "divisor of 4", "another construction"}},
    {"NoComponents", {"--components", "0"}, {"--components is 0", "1..65536"}},
    {"NegativeComponents", {"--components", "-3"}, {"--components is -3"}},
    {"ManyComponents", {"--components", "65537"}, {"--components is 65537", "8 MiB", "empty"}},
    {"TooManyTermsInAClass",
     {"--workers", "8", "--components", "127"},
     {"components is 127", "hold 64 terms", "= 127", "a multiple of 8"}},
    {"PlainBeyondUse",
     {"--workers", "8", "--components", "136", "--construction", "optimized"},
     {"components is 136", "end at c = 128", "differential"}},
    {"VandermondeBeyondUse",
     {"--workers", "8", "--components", "9", "--construction", "vandermonde"},
     {"vandermonde with 9 components", "relative error of 0.5"}},
    {"VandermondeBeyondDouble",
     {"--workers", "16", "--components", "49", "--construction", "vandermonde"},
     {"vandermonde", "condition number of", "holds 1e13"}},
    {"VandermondeBeyondTheBudget",
     {"--workers", "8", "--components", "12", "--construction", "vandermonde"},
     {"the closest is vandermonde with c = 12", "raise it to"}},
    {"ComponentsForTwoWorkers",
     {"--workers", "2", "--components", "4"},
     {"components is 4", "2 workers", "choose a divisor of 2"}},
    {"UnknownType", {"--dtype", "int"}, {"--dtype is 'int'", "f32, bf16, f16"}},
    {"UnknownWire", {"--wire", "fx4"}, {"--wire is 'fx4'", "native, auto, f32, bf16, f16, fx16, fx12, fx8"}},
    {"WireBeyondTheBudget",
     {"--workers", "8", "--wire", "fx8"},
     {"--max-error 0.001;", "the closest is ring with c = 1 in fx8", "raise it to 0.0121"}},
    {"WireBeyondASmallBudget",
     {"--workers", "8", "--dtype", "bf16", "--max-error", "1e-3"},
     {"--max-error 0.001;", "in bf16; raise it to", "another --wire"}},
    {"UnknownOption", {"--worker", "4"}, {"--worker", "--help"}},
    {"StrayWord", {"now"}, {"now", "--help"}},
};

INSTANTIATE_TEST_SUITE_P(Tune, Options, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

void expect_architecture_refused(const std::string& architecture) {
  if (!generator::nvrtc_available()) GTEST_SKIP() << "this build has no NVRTC";
  expect_refused(
      fresh_directory("options"), CERAR_TUNE, {"--topology", "local", "--arch", architecture},
      {"--arch " + architecture, fmt::format("{}", fmt::join(generator::supported_architectures(), ", "))});
}

TEST(Architecture, TooOld) { expect_architecture_refused("sm_10"); }
TEST(Architecture, Garbage) { expect_architecture_refused("x\"y;z"); }
TEST(Architecture, AnOptionInDisguise) { expect_architecture_refused("sm_80 --use_fast_math"); }

TEST(Architecture, NeedsNvrtc) {
  if (generator::nvrtc_available()) GTEST_SKIP() << "this build has NVRTC";
  expect_refused(fresh_directory("options"), CERAR_TUNE, {"--topology", "local", "--arch", "sm_80"},
                 {"--arch sm_80", "NVRTC"});
}

// The sentence names a limit; with just that limit the same command must succeed.
TEST(ErrorBudget, NamedConstructionNamesTheLeastReachableError) {
  const auto directory = fresh_directory("budget");
  const std::vector<std::string> command = {"--topology",     "local",     "--out",       "plan",
                                            "--construction", "optimized", "--max-error", "1e-9"};
  const auto result = run_in(directory, CERAR_TUNE, command);
  expect_refusal(result, {"--max-error 1e-09;", "the closest is optimized with c = ", "raise it to"});
  EXPECT_THAT(entries_below(directory), testing::IsEmpty());
  std::smatch match;
  ASSERT_TRUE(std::regex_search(result.err, match, std::regex("raise it to ([0-9.e-]*[0-9])")));
  auto again = command;
  again.back() = match[1];
  EXPECT_EQ(run_in(directory, CERAR_TUNE, again).exit_code, 0) << match[1];
}

void expect_exact_plan(const std::string& option, const std::string& value, const std::string& reason) {
  const auto directory = fresh_directory("budget");
  const auto result = run_in(directory, CERAR_TUNE, {"--topology", "local", "--out", "plan", option, value});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr(reason));
  const auto plan = runtime::load_plan(directory / "plan");
  for (const auto& variant : plan.variants) EXPECT_EQ(variant.messages, runtime::Messages::sum);
}

TEST(ErrorBudget, WithoutAConstructionThePlanIsExactAndSaysWhy) {
  expect_exact_plan("--max-error", "1e-9", "no approximate code keeps an error of 1e-09 (the least is ");
}

TEST(ErrorBudget, WithoutAConstructionAnImpossibleConditionGivesAnExactPlanAndSaysWhy) {
  expect_exact_plan("--max-condition", "1", "no approximate code keeps a condition of 1 (differential");
}

// The harmonic construction cannot keep this limit, the differential one can.
TEST(ErrorBudget, OneConstructionsRefusalDoesNotStopTheOthers) {
  const auto result =
      run_in(fresh_directory("budget"), CERAR_TUNE,
             {"--topology", "local", "--out", "plan", "--components", "8", "--max-condition", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("Choice: differential with c = 8"));
}

}  // namespace
}  // namespace cerar::test
