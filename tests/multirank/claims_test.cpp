// Real vectors between real ranks, compared with sums in double: are results as exact as the plan claims?
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/measure/measure.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Input;
using runtime::LocalRanks;

struct Case {
  Construction construction;
  int workers;
  int components;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(runtime::name_of(info.param.construction)) + "N" + std::to_string(info.param.workers) +
         "c" + std::to_string(info.param.components);
}

std::vector<Case> approximate_cases() {
  std::vector<Case> cases;
  for (int workers : {4, 6, 8, 16}) {
    for (int terms : {2, 3, 4}) {
      cases.push_back({Construction::optimized, workers, terms * workers});
      cases.push_back({Construction::harmonic, workers, terms * workers});
    }
    for (int terms : {2, 4, 8, 16, 32})
      cases.push_back({Construction::differential, workers, terms * workers});
  }
  // Several chains per class; 63 is dense.
  for (int components : {9, 12, 15, 20, 36}) cases.push_back({Construction::harmonic, 8, components});
  for (int components : {12, 20, 36}) cases.push_back({Construction::optimized, 8, components});
  cases.push_back({Construction::harmonic, 6, 15});
  cases.push_back({Construction::harmonic, 16, 63});
  cases.push_back({Construction::vandermonde, 8, 16});
  cases.push_back({Construction::vandermonde, 4, 5});
  return cases;
}

class Claims : public testing::TestWithParam<Case> {
 protected:
  std::string directory() const {
    const auto& [construction, workers, components] = GetParam();
    return plan_directory(construction, workers, components);
  }
  // Full rows, and a tail that does not divide.
  std::size_t count() const { return static_cast<std::size_t>(GetParam().components) * 32 * 5 + 17; }
};

TEST_P(Claims, MeasuredErrorOfIndependentNormalsIsBetweenHalfAndAllOfTheClaim) {
  const auto variant = runtime::load_plan(directory()).variants[0];
  const LocalRanks ranks(directory(), GetParam().workers);
  for (bool in_place : {false, true}) {
    const auto& claim = claim_of(variant, in_place);
    const auto errors = runtime::measure_errors(ranks, {.count = count(), .in_place = in_place});
    EXPECT_GE(errors.relative_rms, 0.5 * claim.total);
    EXPECT_LE(errors.relative_rms, 1.2 * claim.total);
    EXPECT_EQ(errors.wrong, 0u);
    // Ranks differ, by about the error itself (tuner/DESIGN.md, section 4).
    EXPECT_GE(errors.between_ranks, 0.3 * errors.relative_rms);
    EXPECT_LE(errors.between_ranks, 1.1 * errors.relative_rms);
  }
}

TEST_P(Claims, EqualVectorsGetOnlyTheNoisePart) {
  const auto variant = runtime::load_plan(directory()).variants[0];
  const LocalRanks ranks(directory(), GetParam().workers);
  // Neighbouring samples of a Vandermonde code are nearly equal whatever their chains, and decoding rounds
  // too.
  const double rounding = GetParam().construction == Construction::vandermonde ? 1.2 : 1;
  for (bool in_place : {false, true}) {
    const auto errors =
        runtime::measure_errors(ranks, {.count = count(), .input = Input::equal, .in_place = in_place});
    EXPECT_LE(errors.relative_rms, rounding * claim_of(variant, in_place).noise);
  }
}

TEST_P(Claims, AverageIsTheSumDividedByTheRanks) {
  const auto claim = runtime::load_plan(directory()).variants[0].claim;
  const LocalRanks ranks(directory(), GetParam().workers);
  const auto errors =
      runtime::measure_errors(ranks, {.count = count(), .op = cerarAverage, .in_place = true});
  EXPECT_GE(errors.relative_rms, 0.5 * claim.total);
  EXPECT_LE(errors.relative_rms, 1.2 * claim.total);
}

INSTANTIATE_TEST_SUITE_P(Approximate, Claims, testing::ValuesIn(approximate_cases()), case_name);

// Unimodular codes lose nothing of whole numbers, as long as sums of r of them are exact in f32.
TEST(ExactCodes, IntegersComeOutBitExact) {
  for (int workers : {2, 3, 4, 6, 8, 16})
    for (int c = 1; c <= workers; ++c) {
      const auto construction = workers % c == 0 ? Construction::ring : Construction::unimodular;
      const LocalRanks ranks(plan_directory(construction, workers, c), workers);
      for (std::size_t count : {1u, 31u, 1000u, 40000u})
        for (bool in_place : {false, true}) {
          const auto errors = runtime::measure_errors(
              ranks, {.count = count, .input = Input::integers, .in_place = in_place});
          EXPECT_EQ(errors.not_equal, 0u) << "N = " << workers << " c = " << c << " count = " << count;
        }
    }
}

TEST(ExactCodes, TheBuiltInRingNeedsNoPlan) {
  for (int workers : {1, 2, 5, 8}) {
    const LocalRanks ranks("", workers);
    const auto errors =
        runtime::measure_errors(ranks, {.count = 100003, .input = Input::integers, .in_place = true});
    EXPECT_EQ(errors.not_equal, 0u);
  }
}

TEST(ExactCodes, AverageIsCorrectlyRounded) {
  for (const auto& [workers, components] :
       std::vector<std::pair<int, int>>{{6, 1}, {6, 2}, {6, 3}, {6, 6}, {8, 4}}) {
    const LocalRanks ranks(plan_directory(Construction::ring, workers, components), workers);
    const auto errors = runtime::measure_errors(
        ranks, {.count = 5000, .input = Input::integers, .op = cerarAverage, .in_place = false});
    EXPECT_EQ(errors.not_equal, 0u) << "c = " << components;
  }
}

}  // namespace
}  // namespace cerar::test
