#include "tuner/optimise/optimise_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/base/error.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/wire_noise.h"
#include "tuner/optimise/code_problem.h"

namespace cerar::tuner {
namespace {

TEST(CodeProblem, DerivativesAgreeWithDifferences) {
  for (double nu : {0.0, 1e-3})
    for (bool own_exact : {false, true}) {
      const CodeProblem problem(runtime::make_shape(4, 12), 0.2, nu, std::log(50.0), own_exact);
      std::mt19937 engine(7);
      std::normal_distribution<double> normal(0, 0.1);
      Eigen::VectorXd x = problem.harmonic_start();
      for (double& value : x) value += normal(engine);
      Evaluation here, ahead, behind;
      problem.evaluate(x, here);
      ASSERT_EQ(here.constraints.size(), 4);
      for (int i = 0; i < problem.variables(); ++i) {
        const double step = 1e-5;
        Eigen::VectorXd moved = x;
        moved[i] = x[i] + step;
        problem.evaluate(moved, ahead);
        moved[i] = x[i] - step;
        problem.evaluate(moved, behind);
        EXPECT_NEAR(here.gradient[i], (ahead.value - behind.value) / (2 * step), 1e-6) << i;
        for (int p = 0; p < 4; ++p)
          EXPECT_NEAR(here.jacobian(p, i), (ahead.constraints[p] - behind.constraints[p]) / (2 * step), 1e-5)
              << i;
      }
    }
}

TEST(CodeProblem, ValueIsTheErrorModelsTotal) {
  const CodeProblem problem(runtime::make_shape(8, 24), 0.1, 1e-3, INFINITY);
  Eigen::VectorXd x = problem.harmonic_start();
  x[1] += 0.3;
  x[x.size() - 1] -= 0.2;
  Evaluation here;
  problem.evaluate(x, here);
  const PlainCode code = problem.code_of(x);
  const runtime::ErrorClaim claim = claim_of(code, least_squares_decoder(code, 1e-3), 1e-3);
  EXPECT_NEAR(std::exp(here.value) / claim.total, 1, 1e-9);
  EXPECT_EQ(here.constraints.size(), 0);
}

TEST(OptimiseCode, BeatsHarmonicUnderAConditionLimit) {
  // At limit 10 the prototype's harmonic figure, 0.2564, belongs to epsilon = 1, whose condition is 10.6; the
  // least error of a harmonic code that does meet the limit is 0.278.
  const struct {
    int workers, terms;
    double limit, harmonic, optimised;
  } golden[] = {{8, 2, 100, 4.052e-3, 4.052e-3}, {8, 3, 10, 0.2783, 0.154}, {8, 3, 100, 0.0636, 0.0485},
                {8, 3, 1e4, 6.22e-3, 4.86e-3},   {8, 4, 100, 0.168, 0.112}, {16, 3, 1e3, 1.983e-2, 1.55e-2}};
  for (const auto& row : golden) {
    const CodeGoal goal{.nu = 0, .condition_limit = row.limit};
    const OptimisedCode harmonic = best_harmonic(row.workers, row.terms, goal);
    const OptimisedCode optimised = optimise_code(row.workers, row.terms, goal);
    EXPECT_NEAR(harmonic.error / row.harmonic, 1, 0.01)
        << row.workers << ", " << row.terms << ", " << row.limit;
    EXPECT_EQ(optimised.start_error, harmonic.error);
    EXPECT_LE(optimised.error, row.optimised * 1.001)
        << row.workers << ", " << row.terms << ", " << row.limit;
    EXPECT_GE(optimised.error, row.optimised * 0.9) << "too good to be believed";
    EXPECT_LE(optimised.condition, row.limit);
    EXPECT_LE(harmonic.condition, row.limit);
    EXPECT_EQ(optimised.stop, StopReason::converged);
  }
}

TEST(OptimiseCode, ReachesTheLeastTotalErrorForAWire) {
  const struct {
    int workers, terms;
    double f32, f16, bf16;
  } golden[] = {{4, 2, 1.42e-4, 1.08e-2, 3.06e-2}, {4, 3, 2.00e-3, 3.58e-2, 7.20e-2},
                {8, 2, 1.71e-4, 1.30e-2, 3.69e-2}, {8, 3, 2.28e-3, 4.09e-2, 8.23e-2},
                {8, 4, 8.75e-3, 7.65e-2, 0.130},   {16, 3, 2.57e-3, 4.61e-2, 9.30e-2}};
  for (const auto& row : golden)
    for (const auto& [nu, error] : {std::pair{kNuF32, row.f32}, {kNuF16, row.f16}, {kNuBf16, row.bf16}}) {
      const OptimisedCode code = optimise_code(row.workers, row.terms, {.nu = nu});
      EXPECT_NEAR(code.error / error, 1, 0.01) << row.workers << ", " << row.terms << ", " << nu;
      EXPECT_LE(code.error, code.start_error);
    }
}

TEST(OptimiseCode, OwnExactDecodingMatchesTheGoldenTotals) {
  const struct {
    int workers, terms;
    double total;
  } golden[] = {{4, 2, 1.13e-4}, {4, 3, 1.47e-3}, {8, 2, 1.54e-4},
                {8, 3, 1.99e-3}, {8, 4, 7.52e-3}, {16, 3, 2.41e-3}};
  for (const auto& row : golden) {
    const OptimisedCode code = optimise_code(row.workers, row.terms, {.nu = kNuF32, .own_exact = true});
    EXPECT_NEAR(code.error / row.total, 1, 0.01) << row.workers << ", " << row.terms;
  }
}

TEST(OptimiseCode, IsDeterministicAndSaysWhyItStopped) {
  const CodeGoal goal{.nu = kNuF32, .condition_limit = 1e5};
  const OptimisedCode first = optimise_code(8, 4, goal), second = optimise_code(8, 4, goal);
  EXPECT_EQ(first.code.beta, second.code.beta);
  EXPECT_EQ(first.error, second.error);
  const OptimisedCode cut = optimise_code(8, 4, {.nu = kNuF32, .max_evaluations = 3});
  EXPECT_EQ(cut.stop, StopReason::max_evaluations);
  EXPECT_LE(cut.error, cut.start_error);
}

TEST(OptimiseCode, RefusesGoalsWithoutABestCode) {
  EXPECT_THROW(optimise_code(1, 3, {.nu = kNuF32}), Error);
  EXPECT_THROW(optimise_code(8, 1, {.nu = kNuF32}), Error);
  EXPECT_THROW(optimise_code(8, 3, {.nu = 0}), Error);
  EXPECT_THROW(optimise_code(8, 3, {.nu = -1, .condition_limit = 100}), Error);
  EXPECT_THROW(optimise_code(8, 3, {.nu = 0, .condition_limit = 2}), Error);
}

}  // namespace
}  // namespace cerar::tuner
