#include "tuner/optimise/optimise_code.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/decoder.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/optimise/code_problem.h"

namespace cerar::tuner {
namespace {

/// The solver meets log cond <= limit to this; its limit is lowered by as much, so that the real one holds.
constexpr double kLogConditionMargin = 1e-6;
constexpr double kVariableBound = 1e3;

/// Of a differential code: the kernels read a line less than with three, and no wire's error rises by 1 %.
constexpr int kContributions = 2;

}  // namespace

OptimisedCode optimise_code(int workers, int components, const CodeGoal& goal) {
  const OptimisedCode start = best_harmonic(workers, components, goal);
  if (components <= workers) return start;
  const CodeProblem code_problem(start.code.shape, start.drift, goal.nu,
                                 std::log(goal.condition_limit) - kLogConditionMargin, goal.own_exact);
  MinimiseProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd& x, Evaluation& out) {
    if (goal.step) goal.step();
    code_problem.evaluate(x, out);
  };
  problem.constraints = code_problem.constraints();
  problem.lower = Eigen::VectorXd::Constant(code_problem.variables(), -kVariableBound);
  problem.upper = Eigen::VectorXd::Constant(code_problem.variables(), kVariableBound);
  problem.constraint_tolerance = 1.01 * kLogConditionMargin;
  problem.max_evaluations = goal.max_evaluations;
  const MinimiseResult found = minimise(problem, code_problem.harmonic_start());

  OptimisedCode result = start;
  result.evaluations += found.evaluations;
  result.stop = found.stop;
  PlainCode code = code_problem.code_of(found.x);
  const Decoder decoder = least_squares_decoder(code, goal.nu, goal.own_exact);
  const runtime::ErrorClaim claim = claim_of(code, decoder, goal.nu, goal.own_exact);
  if (claim.total > start.error || claim.condition > goal.condition_limit) return result;
  result.code = std::move(code);
  result.error = claim.total;
  result.condition = claim.condition;
  return result;
}

BestDifferential best_differential(int workers, int terms, double nu, bool own_exact,
                                   const std::function<void()>& step) {
  if (workers < 2 || terms < 2 || !(nu > 0))
    throw Error(ErrorCode::invalid_argument,
                "a differential code of " + std::to_string(terms) + " terms for " + std::to_string(workers) +
                    " workers with nu " + std::to_string(nu) +
                    " has no best epsilon; use at least 2 of each and a positive nu.");
  const runtime::Shape shape = runtime::make_shape(workers, terms * workers);
  const auto error = [&](double epsilon) {
    if (step) step();
    const float rounded = static_cast<float>(epsilon);
    return total_error(shape, differential_tables(shape, rounded, nu, own_exact, kContributions), nu);
  };
  // Error a epsilon + b nu / epsilon: the best is about sqrt(nu), times a few.
  const double guess = std::min(0.03, std::sqrt(nu));
  const ScalarResult best = minimise_log_scale(error, guess / 30, 1.0);
  BestDifferential result;
  result.design =
      differential_design(workers, terms, static_cast<float>(best.x), nu, own_exact, kContributions);
  result.evaluations = best.evaluations;
  return result;
}

}  // namespace cerar::tuner
