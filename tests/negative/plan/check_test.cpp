// `cerar-tune check`: an intact plan passes; one whose text was made consistent again after a change does
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "generator/compile/nvrtc_compiler.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

/// Each difference is a line of stderr.
void expect_difference(const std::filesystem::path& plan, const std::string& line) {
  const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.err, testing::HasSubstr(line));
  EXPECT_THAT(result.err,
              testing::MatchesRegex("(cerar-tune: " + plan.string() + ": differential-c8: [^\n]*\\.\n)+"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("holds what it claims")));
}

TEST(Check, AnIntactPlanPasses) {
  for (const auto& plan : {intact_plan(), exact_plan()}) {
    const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, testing::HasSubstr("holds what it claims"));
  }
}

struct Claim {
  const char* name;
  const char* from;
  const char* to;
  const char* line;
};
void PrintTo(const Claim& claim, std::ostream* out) { *out << claim.name; }

class ChangedClaim : public testing::TestWithParam<Claim> {};

TEST_P(ChangedClaim, IsNamed) {
  const auto plan = copy_of(intact_plan());
  edit_plan(plan, [](const std::string& text) { return replaced(text, GetParam().from, GetParam().to); });
  expect_difference(plan, GetParam().line);
}

// The first figure of each number is moved by one place, which no tolerance covers.
const Claim kClaims[] = {
    {"Condition", "condition: 1.", "condition: 2.", "errors.condition is 2."},
    {"NoiseGain", "noise_gain: ", "noise_gain: 1", "errors.noise_gain is 1"},
    {"Approximation", "approximation: ", "approximation: 1", "errors.approximation is "},
    {"ApproximationWorst", "approximation_worst: ", "approximation_worst: 1",
     "errors.approximation_worst is "},
    {"Noise", " noise: ", " noise: 1", "errors.noise is "},
    {"Total", "total: 0.000", "total: 0.001", "errors.total is 0.001"},
    {"BudgetBelowTheError", "max_error: 1\n", "max_error: 1e-06\n", "exceeds the plan's max_error of 1e-06"},
    {"Time", "us_per_mib: ", "us_per_mib: 1", "predicted.us_per_mib is 1"},
    {"BaselineTime", "baseline_fixed_us: ", "baseline_fixed_us: 1", "predicted.baseline_fixed_us is 1"},
    {"Lanes", "lanes: 2", "lanes: 3", "lanes is 3 in the plan but 2 in the topology"},
    {"MessageBytes", "message_bytes: 65536", "message_bytes: 65537", "message_bytes is 65537"},
    {"Entry", "entry: cerar_differential_c8_visit", "entry: cerar_visit",
     "entry of kernel visit is cerar_visit"},
    {"Interleave", "interleave: 32", "interleave: 16", "in the parameter kInterleave"},

};

INSTANTIATE_TEST_SUITE_P(Check, ChangedClaim, testing::ValuesIn(kClaims),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Check, AChangedTableIsFound) {
  const auto plan = copy_of(intact_plan());
  edit_plan(plan, [](const std::string& text) { return replaced(text, "[1, ", "[1.5, "); });
  expect_difference(plan, "errors.");
}

TEST(Check, AChangedKernelSourceIsNamedWithItsLine) {
  const auto plan = copy_of(intact_plan());
  edit_artefact(plan, "kernels/differential-c8.cu",
                [](const std::string& text) { return replaced(text, "\n", "\n// a line of mine\n"); });
  expect_difference(plan,
                    "kernels/differential-c8.cu differs from the source specialised now from the code "
                    "tables, first in line 2");
}

TEST(Check, SeveralPlansAreAllCheckedAfterOneThatDiffers) {
  const auto damaged = copy_of(intact_plan()), unreadable = copy_of(intact_plan());
  edit_plan(damaged, [](const std::string& text) { return replaced(text, "total: 0.000", "total: 0.001"); });
  edit_plan(unreadable, [](const std::string& text) { return replaced(text, "lanes: 2\n", "lanes: two\n"); });
  const auto result =
      run_in(fresh_directory("check"), CERAR_TUNE,
             {"check", damaged.string(), unreadable.string(), "nowhere", exact_plan().string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr(damaged.string() + ": differential-c8: errors.total is 0.001"));
  EXPECT_THAT(result.err,
              testing::ContainsRegex(unreadable.string() + "/plan.yaml:[0-9]+: variants.0..lanes is 'two'"));
  EXPECT_THAT(result.err, testing::HasSubstr("nowhere/plan.yaml does not exist"));
  EXPECT_THAT(result.out, testing::HasSubstr(damaged.string() + ": 2 differences"));
  EXPECT_THAT(result.out, testing::HasSubstr(unreadable.string() + ": 1 difference\n"));
  EXPECT_THAT(result.out, testing::HasSubstr(exact_plan().string() + ": holds what it claims"));
}

TEST(Check, CubinsThatCannotBeComparedAreAFactAndNoDifference) {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) {
    const std::string row = "      - {target: host";
    return replaced(text, row, "      - {target: sm_1, file: \"kernels/a.cubin\", sha256: 00}\n" + row);
  });
  const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("cubins (for sm_1 )?not compared: this build"));
  EXPECT_THAT(result.out, testing::HasSubstr("1 of 2 compiled files are not there"));
}

TEST(Check, RegistersThatGrewAreNamedWhereTheyCanBeCounted) {
  if (!generator::nvrtc_available()) GTEST_SKIP() << "this build has no NVRTC";
  const auto plan = fresh_directory("registers") / "plan";
  const auto made = run_in(fresh_directory("check"), CERAR_TUNE,
                           {"--topology", "local", "--workers", "2", "--components", "2", "--arch", "sm_80",
                            "--out", plan.string()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  edit_plan(plan, [](const std::string& text) {
    return std::regex_replace(text, std::regex("target: sm_80, registers: [0-9]+"),
                              "target: sm_80, registers: 9");
  });
  const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              testing::ContainsRegex("kernel settle takes [0-9]+ registers on sm_80, recorded were 9"));
  EXPECT_THAT(result.out, testing::HasSubstr("compiled for sm_80: registers and spills compared"));
  EXPECT_THAT(result.out, testing::HasSubstr("compiled for compute_80: PTX, which drivers compile"));

  // Those of another compiler are no regression of the plan.
  edit_plan(plan, [](const std::string& text) {
    return std::regex_replace(text, std::regex("nvrtc: \"[0-9.]+\""), "nvrtc: \"1.2\"");
  });
  const auto other = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.out, testing::HasSubstr("compiled for sm_80: registers not compared, the plan's are of "
                                            "NVRTC 1.2 and this build has " +
                                            generator::nvrtc_version()));
}

TEST(Check, AnAlteredBinaryIsNamed) {
  const auto plan = copy_of(exact_plan());
  const auto file = plan / "kernels" / "ring-c2.host.so";
  write_text(file, read_text(file) + " ");
  const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("ring-c2.host.so does not match its SHA-256"));
}

TEST(Check, AShortenedKernelSourceIsNamed) {
  const auto plan = copy_of(intact_plan());
  edit_artefact(plan, "kernels/differential-c8.cu",
                [](const std::string& text) { return text.substr(0, text.size() / 2); });
  expect_difference(plan, "kernels/differential-c8.cu differs from the source specialised now");
}

}  // namespace
}  // namespace cerar::test
