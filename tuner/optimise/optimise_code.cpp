#include "tuner/optimise/optimise_code.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/constructions/harmonic.h"
#include "tuner/code/plain/decoder.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/phase_system.h"
#include "tuner/optimise/code_problem.h"

namespace cerar::tuner {
namespace {

constexpr double kLeastEpsilon = 1e-7;
constexpr double kLargestEpsilon = 10;
/// The solver meets log cond <= limit to this; its limit is lowered by as much, so that the real one holds.
constexpr double kLogConditionMargin = 1e-6;
constexpr double kVariableBound = 1e3;

void require_plain(int workers, int terms, const CodeGoal& goal) {
  if (workers < 2 || terms < 2)
    throw Error(ErrorCode::invalid_argument, "a code of " + std::to_string(terms) + " terms for " +
                                                 std::to_string(workers) +
                                                 " workers cannot be optimised; both must be at least 2.");
  if (!(goal.nu >= 0) || (goal.nu == 0 && !std::isfinite(goal.condition_limit)))
    throw Error(ErrorCode::invalid_argument,
                "nu is " + std::to_string(goal.nu) +
                    " and the condition number is not limited; give a positive nu or "
                    "a limit, or else the best drift is none.");
}

PlainCode harmonic(int workers, int terms, double epsilon) {
  return harmonic_code(workers, terms * workers, epsilon);
}

double condition_of(const PlainCode& code) {
  double worst = 1;
  for (int p = 0; p < code.shape.workers; ++p)
    worst = std::max(worst, condition_number(mixing_matrix(code, p, 0)));
  return worst;
}

/// The least epsilon whose condition is within the limit: the condition falls with epsilon down to its
/// minimum.
double least_epsilon_within(int workers, int terms, double limit) {
  const auto condition = [&](double epsilon) { return condition_of(harmonic(workers, terms, epsilon)); };
  double within = minimise_log_scale(condition, kLeastEpsilon, kLargestEpsilon).x;
  const double least = condition(within);
  if (least > limit)
    throw Error(ErrorCode::invalid_argument,
                "condition limit " + std::to_string(limit) + " is below " + std::to_string(least) +
                    ", the least that the harmonic construction reaches; raise it.");
  double beyond = kLeastEpsilon;
  if (condition(beyond) <= limit) return beyond;
  while (within / beyond > 1 + 1e-9) {
    const double middle = std::sqrt(within * beyond);
    (condition(middle) <= limit ? within : beyond) = middle;
  }
  return within;
}

OptimisedCode describe(PlainCode code, double epsilon, const CodeGoal& goal) {
  OptimisedCode result;
  const Decoder decoder = least_squares_decoder(code, goal.nu, goal.own_exact);
  const runtime::ErrorClaim claim = claim_of(code, decoder, goal.nu, goal.own_exact);
  result.code = std::move(code);
  result.epsilon = epsilon;
  result.error = result.start_error = claim.total;
  result.condition = claim.condition;
  return result;
}

}  // namespace

OptimisedCode best_harmonic(int workers, int terms, const CodeGoal& goal) {
  require_plain(workers, terms, goal);
  double lower = kLeastEpsilon;
  if (std::isfinite(goal.condition_limit)) lower = least_epsilon_within(workers, terms, goal.condition_limit);
  const auto error = [&](double epsilon) {
    const PlainCode code = harmonic(workers, terms, epsilon);
    if (epsilon > lower && condition_of(code) > goal.condition_limit)
      return std::numeric_limits<double>::infinity();
    const Decoder decoder = least_squares_decoder(code, goal.nu, goal.own_exact);
    return claim_of(code, decoder, goal.nu, goal.own_exact).total;
  };
  ScalarResult best = minimise_log_scale(error, lower, std::max(lower * 1.01, kLargestEpsilon));
  // The grid goes through exp(log(lower)); at the limit itself the difference decides what is feasible.
  const double at_lower = error(lower);
  if (at_lower <= best.value) best.x = lower;
  OptimisedCode result = describe(harmonic(workers, terms, best.x), best.x, goal);
  result.evaluations = best.evaluations + 1;
  return result;
}

OptimisedCode optimise_code(int workers, int terms, const CodeGoal& goal) {
  const OptimisedCode start = best_harmonic(workers, terms, goal);
  const CodeProblem code_problem(start.code.shape, start.epsilon, goal.nu,
                                 std::log(goal.condition_limit) - kLogConditionMargin, goal.own_exact);
  MinimiseProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd& x, Evaluation& out) { code_problem.evaluate(x, out); };
  problem.constraints = code_problem.constraints();
  problem.lower = Eigen::VectorXd::Constant(code_problem.variables(), -kVariableBound);
  problem.upper = Eigen::VectorXd::Constant(code_problem.variables(), kVariableBound);
  problem.constraint_tolerance = 1.01 * kLogConditionMargin;
  problem.max_evaluations = goal.max_evaluations;
  const MinimiseResult found = minimise(problem, code_problem.harmonic_start());

  OptimisedCode result = describe(code_problem.code_of(found.x), start.epsilon, goal);
  if (result.error > start.error || result.condition > goal.condition_limit) result = start;
  result.start_error = start.error;
  result.evaluations = start.evaluations + found.evaluations;
  result.stop = found.stop;
  return result;
}

BestDifferential best_differential(int workers, int terms, double nu, bool own_exact) {
  if (workers < 2 || terms < 2 || !(nu > 0))
    throw Error(ErrorCode::invalid_argument,
                "a differential code of " + std::to_string(terms) + " terms for " + std::to_string(workers) +
                    " workers with nu " + std::to_string(nu) +
                    " has no best epsilon; use at least 2 of each and a positive nu.");
  const runtime::Shape shape = runtime::make_shape(workers, terms * workers);
  const auto error = [&](double epsilon) {
    const float rounded = static_cast<float>(epsilon);
    return total_error(shape, differential_tables(shape, rounded, nu, own_exact), nu);
  };
  // Error a epsilon + b nu / epsilon: the best is about sqrt(nu), times a few.
  const double guess = std::min(0.03, std::sqrt(nu));
  const ScalarResult best = minimise_log_scale(error, guess / 30, 1.0);
  BestDifferential result;
  result.design = differential_design(workers, terms, static_cast<float>(best.x), nu, own_exact);
  result.evaluations = best.evaluations;
  return result;
}

}  // namespace cerar::tuner
