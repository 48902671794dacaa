// Plain codes of few terms out of place: a rank decodes beside its own vector and makes its part exact.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/measure/measure.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/plan_file.h"
#include "tests/multirank/vectors.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Input;
using runtime::LocalRanks;
using runtime::make_input;

struct Case {
  int workers, terms;
  double golden;  // least error in f32 of own-exact decoding, from an independent prototype
  double excess;  // what the drift that is best in place costs beside it, at most
};

constexpr Case kCases[] = {{4, 2, 1.13e-4, 0.06}, {4, 3, 1.47e-3, 0.06},  {8, 2, 1.54e-4, 0.02},
                           {8, 3, 1.99e-3, 0.02}, {8, 4, 7.52e-3, 0.015}, {16, 3, 2.41e-3, 0.005}};

class OwnExact : public testing::TestWithParam<Case> {
 protected:
  int workers() const { return GetParam().workers; }
  int components() const { return workers() * GetParam().terms; }
  std::size_t row() const { return static_cast<std::size_t>(components()) * 32; }
  std::string directory() const { return plan_directory(Construction::optimized, workers(), components()); }
  runtime::Variant variant() const { return runtime::load_plan(directory()).variants[0]; }
};

double claimed(const LocalRanks& ranks) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  runtime::require_success(cerarCommLastCall(ranks.comm(0), &info));
  EXPECT_LT(info.claimed_noise, info.claimed_error);
  return info.claimed_error;
}

TEST_P(OwnExact, TheClaimIsNearTheLeastErrorOfSuchDecoding) {
  const auto claim = variant().claim_out_of_place;
  ASSERT_TRUE(claim);
  EXPECT_GE(claim->total, 0.99 * GetParam().golden);
  EXPECT_LE(claim->total, (1 + GetParam().excess) * GetParam().golden);
  EXPECT_EQ(claim->condition, variant().claim.condition);
}

TEST_P(OwnExact, MeasuredErrorsKeepTheClaimAndAreLessThanInPlace) {
  const auto tables = variant();
  const LocalRanks ranks(directory(), workers());
  for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
    runtime::Errors errors[2];
    for (const bool in_place : {false, true}) {
      const double claim = claim_of(tables, in_place).total;
      errors[in_place] =
          runtime::measure_errors(ranks, {.count = 60 * row(), .op = op, .in_place = in_place});
      EXPECT_EQ(claimed(ranks), claim);
      EXPECT_GE(errors[in_place].relative_rms, 0.5 * claim);
      EXPECT_LE(errors[in_place].relative_rms, 1.2 * claim);
      EXPECT_EQ(errors[in_place].wrong, 0u);
    }
    // By 6 % (N = 16) to 25 % (N = 4). Claims of noise hold a reserve, of which calls in place use more.
    const double claimed_ratio = claim_of(tables, false).total / claim_of(tables, true).total,
                 ratio = errors[false].relative_rms / errors[true].relative_rms;
    EXPECT_LT(claimed_ratio, 0.95);
    EXPECT_LT(ratio, claimed_ratio + 0.02);
    EXPECT_GT(ratio, claimed_ratio - 0.1);
  }
}

TEST_P(OwnExact, CountsThatDoNotDivideClaimWhatTheirPaddedRowAllows) {
  const auto tables = variant();
  const LocalRanks ranks(directory(), workers());
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{31}, row() - 1, row(), row() + 1, 2 * row() - 1, 40 * row() + 77}) {
    const auto errors = runtime::measure_errors(ranks, {.count = count});
    const double claim = claimed(ranks),
                 tail = static_cast<double>(count % row()) / static_cast<double>(count);
    const double expected = std::sqrt(tail * std::pow(tables.claim.total, 2) +
                                      (1 - tail) * std::pow(tables.claim_out_of_place->total, 2));
    EXPECT_NEAR(claim / expected, 1, 1e-12) << count;
    EXPECT_EQ(errors.wrong, 0u) << count;
    if (count < row() - 1) continue;  // too few for statistics
    EXPECT_GE(errors.relative_rms, 0.5 * claim) << count;
    EXPECT_LE(errors.relative_rms, 1.2 * claim) << count;
  }
}

// With zeros from all others a rank's result is its own vector: out of place up to the rounding of messages,
// which decoding multiplies: less than claimed, since messages round one worker's numbers instead of N. In
// place the code's own error is there as well.
TEST_P(OwnExact, ARankAmongZerosGetsItsOwnVectorBack) {
  const auto tables = variant();
  const LocalRanks ranks(directory(), workers());
  const std::size_t count = 20 * row();
  for (const int owner : {0, workers() - 1}) {
    Vectors inputs(static_cast<std::size_t>(workers()), std::vector<float>(count));
    const auto& own = inputs[static_cast<std::size_t>(owner)] = make_input(Input::normal, owner, count);
    double error[2] = {};
    for (const bool in_place : {false, true}) {
      const auto output = all_reduce(ranks, inputs, in_place)[static_cast<std::size_t>(owner)];
      double square = 0, scale = 0;
      for (std::size_t i = 0; i < count; ++i) {
        square += std::pow(static_cast<double>(output[i]) - own[i], 2);
        scale += std::pow(static_cast<double>(own[i]), 2);
      }
      error[in_place] = std::sqrt(square / scale);
    }
    EXPECT_LE(error[false], 0.6 * tables.claim_out_of_place->noise);
    EXPECT_LE(error[false], 0.4 * error[true]);
    EXPECT_GE(error[true], tables.claim.approximation);
  }
}

// They are worked on as f32 copies in place.
TEST_P(OwnExact, VectorsOf16BitsHaveTheClaimOfCallsInPlace) {
  const LocalRanks ranks(directory(), workers());
  const std::size_t count = 20 * row();
  std::vector<double> exact(count);
  std::vector<std::vector<std::uint16_t>> inputs, outputs;
  for (int rank = 0; rank < workers(); ++rank) {
    auto numbers = make_input(Input::normal, rank, count);
    inputs.emplace_back(count);
    outputs.emplace_back(count, std::uint16_t{0x7fff});
    runtime::narrow(runtime::DataType::bf16, numbers.data(), count, inputs.back().data(), 0);
    runtime::widen(runtime::DataType::bf16, inputs.back().data(), 0, count, numbers.data());
    for (std::size_t i = 0; i < count; ++i) exact[i] += numbers[i];
  }
  ranks.run([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    runtime::require_success(cerarAllReduce(inputs[at].data(), outputs[at].data(), count, cerarBfloat16,
                                            cerarSum, ranks.comm(rank), nullptr));
  });
  // The result is rounded once, which is part of the claim.
  const double claim = std::hypot(variant().claim.total, 0.425 * 0x1p-8);
  EXPECT_EQ(claimed(ranks), claim);
  double square = 0, error = 0;
  std::vector<float> numbers(count);
  for (const auto& output : outputs) {
    runtime::widen(runtime::DataType::bf16, output.data(), 0, count, numbers.data());
    for (std::size_t i = 0; i < count; ++i) {
      square += exact[i] * exact[i];
      error += std::pow(numbers[i] - exact[i], 2);
    }
  }
  // Rounding normal numbers differs a little from rounding numbers of no particular scale.
  EXPECT_LE(std::sqrt(error / square), std::hypot(1.1 * claim, 0.1 * 0x1p-8));
}

INSTANTIATE_TEST_SUITE_P(Codes, OwnExact, testing::ValuesIn(kCases), [](const auto& info) {
  return "N" + std::to_string(info.param.workers) + "r" + std::to_string(info.param.terms);
});

}  // namespace
}  // namespace cerar::test
