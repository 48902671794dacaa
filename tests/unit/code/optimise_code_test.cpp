#include "tuner/optimise/optimise_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/base/error.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/optimise/code_problem.h"
#include "tuner/optimise/minimise.h"

namespace cerar::tuner {
namespace {

void expect_exact_derivatives(const CodeProblem& problem) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal(0, 0.1);
  Eigen::VectorXd x = problem.harmonic_start();
  for (double& value : x) value += normal(engine);
  Evaluation here, ahead, behind;
  problem.evaluate(x, here);
  for (int i = 0; i < problem.variables(); ++i) {
    const double step = 1e-5;
    Eigen::VectorXd moved = x;
    moved[i] = x[i] + step;
    problem.evaluate(moved, ahead);
    moved[i] = x[i] - step;
    problem.evaluate(moved, behind);
    EXPECT_NEAR(here.gradient[i], (ahead.value - behind.value) / (2 * step), 1e-6) << i;
    for (int p = 0; p < problem.constraints(); ++p)
      EXPECT_NEAR(here.jacobian(p, i), (ahead.constraints[p] - behind.constraints[p]) / (2 * step), 1e-5)
          << i;
  }
}

TEST(CodeProblem, DerivativesAgreeWithDifferences) {
  // Chains per class: 1, 2, 2, 5 (a cosine and a sine on top), 8.
  for (const auto& [workers, components] : {std::pair{4, 12}, {4, 10}, {6, 15}, {5, 7}, {8, 11}})
    for (double nu : {0.0, 1e-3})
      for (bool own_exact : {false, true}) {
        const runtime::Shape shape = runtime::make_shape(workers, components);
        const CodeProblem problem(shape, 0.2, nu, std::log(50.0), own_exact);
        EXPECT_EQ(problem.constraints(), shape.classes);
        SCOPED_TRACE(components);
        expect_exact_derivatives(problem);
      }
}

// The problem sums over Q phases and knows chains only through their functions; the error model takes every
// phase and every table entry.
TEST(CodeProblem, ValueAndConstraintsAreThoseOfTheWholeErrorModel) {
  for (const auto& [workers, components] : {std::pair{8, 24}, {8, 20}, {8, 12}, {6, 15}, {7, 10}, {5, 24}})
    for (bool own_exact : {false, true}) {
      const CodeProblem problem(runtime::make_shape(workers, components), 0.1, 1e-3, 0.0, own_exact);
      Eigen::VectorXd x = problem.harmonic_start();
      x[1] += 0.3;
      x[x.size() - 1] -= 0.2;
      Evaluation here;
      problem.evaluate(x, here);
      const PlainCode code = problem.code_of(x);
      const Decoder decoder = least_squares_decoder(code, 1e-3, own_exact);
      const runtime::ErrorClaim claim = claim_of(code, decoder, 1e-3, own_exact);
      EXPECT_NEAR(std::exp(here.value) / claim.total, 1, 1e-9) << components;
      EXPECT_NEAR(std::exp(here.constraints.maxCoeff()) / claim.condition, 1, 1e-9) << components;
      const int phases = distinct_phases(code.shape);
      EXPECT_NEAR(least_squares_error(code, 1e-3, own_exact, phases) / claim.total, 1, 1e-9) << components;
      EXPECT_EQ(CodeProblem(code.shape, 0.1, 1e-3, INFINITY).constraints(), 0);
    }
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
    const OptimisedCode harmonic = best_harmonic(row.workers, row.workers * row.terms, goal);
    const OptimisedCode optimised = optimise_code(row.workers, row.workers * row.terms, goal);
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
      const OptimisedCode code = optimise_code(row.workers, row.workers * row.terms, {.nu = nu});
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
    const OptimisedCode code =
        optimise_code(row.workers, row.workers * row.terms, {.nu = kNuF32, .own_exact = true});
    EXPECT_NEAR(code.error / row.total, 1, 0.01) << row.workers << ", " << row.terms;
  }
}

TEST(OptimiseCode, IsDeterministicAndSaysWhyItStopped) {
  const CodeGoal goal{.nu = kNuF32, .condition_limit = 1e5};
  const OptimisedCode first = optimise_code(8, 32, goal), second = optimise_code(8, 32, goal);
  EXPECT_EQ(first.code.beta, second.code.beta);
  EXPECT_EQ(first.error, second.error);
  const OptimisedCode cut = optimise_code(8, 32, {.nu = kNuF32, .max_evaluations = 3});
  EXPECT_EQ(cut.stop, StopReason::max_evaluations);
  EXPECT_LE(cut.error, cut.start_error);
}

double condition_of(const PlainCode& code) {
  double worst = 1;
  for (int p = 0; p < code.shape.workers; ++p)
    worst = std::max(worst, condition_number(mixing_matrix(code, p, 0)));
  return worst;
}

TEST(OptimiseCode, IsNeverWorseThanHarmonicAtTheSameConditionLimit) {
  std::mt19937 engine(2024);
  const auto whole = [&](int first, int last) {
    return first + static_cast<int>(engine() % static_cast<unsigned>(last - first + 1));
  };
  int better = 0;
  for (int i = 0; i < 25;) {
    const int workers = whole(3, 16), components = whole(workers, 6 * workers);
    const double decades = 1 + 4.0 * static_cast<double>(engine() % 1000) / 1000;
    if (runtime::make_shape(workers, components).terms > 64) continue;
    ++i;
    SCOPED_TRACE(fmt::format("N = {}, c = {}, {} decades", workers, components, decades));
    const auto condition = [&](double drift) {
      return condition_of(harmonic_code(workers, components, drift));
    };
    const double least = components == workers ? 1 : minimise_near(condition, 1, 1e-2, 10).value;
    const CodeGoal goal{.nu = kNuF32, .condition_limit = least * std::pow(10.0, decades)};
    const OptimisedCode harmonic = best_harmonic(workers, components, goal);
    const OptimisedCode optimised = optimise_code(workers, components, goal);
    EXPECT_LE(optimised.error, harmonic.error);
    EXPECT_LE(optimised.condition, goal.condition_limit);
    EXPECT_LE(harmonic.condition, goal.condition_limit);
    EXPECT_NEAR(optimised.condition / condition_of(optimised.code), 1, 1e-9);
    better += optimised.error < 0.95 * harmonic.error;
  }
  EXPECT_GE(better, 10);
}

TEST(OptimiseCode, HarmonicUsesTheWholeConditionLimit) {
  for (const auto& [workers, components] : {std::pair{8, 12}, {8, 9}, {6, 15}, {8, 24}, {5, 17}})
    for (double limit : {1e3, 1e5, 1e6}) {
      const OptimisedCode code = best_harmonic(workers, components, {.condition_limit = limit});
      EXPECT_LE(code.condition, limit) << components;
      EXPECT_GE(code.condition, limit * (1 - 1e-5)) << components;
    }
}

TEST(OptimiseCode, ReturnsTheExactHarmonicCodeUpToAsManyComponentsAsWorkers) {
  for (const auto& [workers, components] : {std::pair{8, 3}, {8, 6}, {8, 7}, {8, 8}, {64, 63}, {5, 1}}) {
    const OptimisedCode code = optimise_code(workers, components, {.nu = kNuF32});
    EXPECT_EQ(code.code.beta, best_harmonic(workers, components, {.nu = 0}).code.beta);
    EXPECT_EQ(code.error, code.start_error);
    EXPECT_LT(code.error, 1e-6) << components;
    EXPECT_EQ(code.stop, StopReason::converged);
  }
  EXPECT_THROW(optimise_code(8, 7, {.nu = kNuF32, .condition_limit = 2}), Error);
}

TEST(Vandermonde, NeedsMoreConditionThanHarmonicForAGreaterError) {
  for (const auto& [workers, components] : {std::pair{8, 3}, {8, 5}, {4, 7}, {8, 12}}) {
    const OptimisedCode code = best_vandermonde(workers, components, {.nu = kNuF32});
    EXPECT_GT(code.error, 3 * best_harmonic(workers, components, {.nu = kNuF32}).error) << components;
    EXPECT_LT(code.error, 1);
    const OptimisedCode held =
        best_vandermonde(workers, components, {.nu = kNuF32, .condition_limit = code.condition / 2});
    EXPECT_NEAR(held.condition / code.condition, 0.5, 1e-3);
    EXPECT_GE(held.error, code.error);
  }
}

// The decoder gives up what it cannot hold, so the condition is what tells.
TEST(Vandermonde, IsRefusedWhereDoublePrecisionCannotHoldIt) {
  for (const auto& [workers, components] : {std::pair{16, 49}, {4, 31}}) try {
      best_vandermonde(workers, components, {.nu = kNuF32});
      FAIL() << components;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("holds 1e13"), std::string::npos) << error.what();
    }
  EXPECT_THROW(best_harmonic(8, 24, {.condition_limit = 1e15}), Error);
}

TEST(OptimiseCode, RefusesGoalsWithoutABestCode) {
  EXPECT_THROW(optimise_code(1, 3, {.nu = kNuF32}), Error);
  EXPECT_THROW(optimise_code(8, 0, {.nu = kNuF32}), Error);
  EXPECT_THROW(optimise_code(8, 24, {.nu = 0}), Error);
  EXPECT_THROW(optimise_code(8, 24, {.nu = -1, .condition_limit = 100}), Error);
  EXPECT_THROW(optimise_code(8, 24, {.nu = 0, .condition_limit = 2}), Error);
}

}  // namespace
}  // namespace cerar::tuner
