// The same for a plain code, which no reference plan holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/reference/damage.h"

namespace cerar::test {
namespace {

constexpr const char* kVariant = "optimized-c12";

const std::filesystem::path& plain_plan() {
  static const auto plan = [] {
    const auto directory = fresh_directory("plain");
    const auto result = run_in(directory, CERAR_TUNE,
                               {"--topology", "ethernet-10g", "--workers", "4", "--construction", "optimized",
                                "--components", "12", "--max-error", "1e-2", "--out", "plan"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return directory / "plan";
  }();
  return plan;
}

runtime::PlainTables& tables_of(runtime::Plan& plan) {
  return std::get<runtime::PlainTables>(variant_of(plan, kVariant).tables);
}

class PlainDamage : public testing::TestWithParam<DigestLine> {};

INSTANTIATE_TEST_SUITE_P(Plain, PlainDamage, testing::Values(DigestLine::fits, DigestLine::stale),
                         [](const auto& info) {
                           return info.param == DigestLine::fits ? "DigestFits" : "DigestStale";
                         });

TEST_P(PlainDamage, DecoderIsNamedByClaimAndSource) {
  const auto plan = copy_of(plain_plan());
  alter_plan(plan, GetParam(), [](runtime::Plan& altered) {
    float& entry = tables_of(altered).decode[4];
    entry = changed_f32(entry);
  });
  const auto lines = differences_of(plan);
  expect_line(lines, {kVariant, "errors.", "recomputed from the code tables"});
  expect_line(lines, {kVariant, "kernels/optimized-c12.cu differs", "in the parameter k"});
  EXPECT_EQ(variants_named(plan, lines).count(""), GetParam() == DigestLine::stale ? 1u : 0u);
}

// The claim out of place alone: calls in place do without these tables.
TEST_P(PlainDamage, TablesForCallsOutOfPlaceAreNamedByTheirClaimAndSource) {
  for (auto table : {&runtime::PlainTables::decode_out_of_place, &runtime::PlainTables::own_out_of_place}) {
    const auto plan = copy_of(plain_plan());
    alter_plan(plan, GetParam(), [&](runtime::Plan& altered) { (tables_of(altered).*table)[4] *= 1.5f; });
    const auto lines = differences_of(plan);
    expect_line(lines, {kVariant, "errors_out_of_place.", "recomputed from the code tables"});
    expect_line(lines, {kVariant, "kernels/optimized-c12.cu differs", "in the parameter k"});
    for (const auto& line : lines) EXPECT_EQ(line.find("errors."), std::string::npos) << line;
  }
}

TEST_P(PlainDamage, AnotherClaimOutOfPlaceIsNamed) {
  const auto plan = copy_of(plain_plan());
  alter_plan(plan, GetParam(), [](runtime::Plan& altered) {
    variant_of(altered, kVariant).claim_out_of_place->total *= 1 + 1e-6;
  });
  expect_line(differences_of(plan),
              {kVariant, "errors_out_of_place.total", "recomputed from the code tables"});
}

// The last visit's coefficient is the start of no other increment, so its own can be any f32.
TEST_P(PlainDamage, BetaIsNamedByClaimAndSource) {
  const auto plan = copy_of(plain_plan());
  alter_plan(plan, GetParam(), [](runtime::Plan& altered) {
    auto& beta = tables_of(altered).beta;
    const std::size_t last = beta.size() - 1, revolution = 4 * 3;
    const double before = beta[last - revolution];
    beta[last] = before + static_cast<double>(changed_f32(static_cast<float>(beta[last] - before)));
  });
  const auto lines = differences_of(plan);
  expect_line(lines, {kVariant, "errors.", "recomputed from the code tables"});
  expect_line(lines, {kVariant, "kernels/optimized-c12.cu differs", "in the parameter k"});
  EXPECT_EQ(variants_named(plan, lines).count(""), GetParam() == DigestLine::stale ? 1u : 0u);
}

TEST_P(PlainDamage, CoefficientsThatAreNoF32AreNamed) {
  for (const char* key : {"beta", "decode", "decode_out_of_place", "own_out_of_place"}) {
    const auto plan = copy_of(plain_plan());
    alter_text(plan, GetParam(),
               [&](const std::string& text) { return with_digit_changed(text, kVariant, key); });
    expect_line(differences_of(plan), {std::string(key), "not exactly an f32"});
  }
}

}  // namespace
}  // namespace cerar::test
