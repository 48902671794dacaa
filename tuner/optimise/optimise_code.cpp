#include "tuner/optimise/optimise_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/optimise/code_problem.h"
#include "tuner/optimise/minimise.h"

namespace cerar::tuner {
namespace {

constexpr double kLeastDrift = 1e-7;
constexpr double kMostCondition = 1e13;
/// Of log cond; the least drift within a limit is found to this.
constexpr double kConditionTolerance = 1e-8;

/// A construction with one parameter. Its error grows like drift, its condition falls like drift^-order up to
/// about drift 1, where it has a minimum.
struct Family {
  const char* name;
  PlainCode (*code)(int workers, int components, double drift);
  int order;
  double most_drift;
};

class DriftSearch {
 public:
  DriftSearch(const Family& family, int workers, int components, const CodeGoal& goal)
      : family_(family), shape_(runtime::make_shape(workers, components)), goal_(goal) {
    // Phases are equal up to rounding, which the condition multiplies.
    limit_ = goal.condition_limit * (1 - std::min(0.1, 1e-14 * goal.condition_limit));
  }

  OptimisedCode run() {
    if (family_.order == 0) return describe(family_.most_drift);
    double drift = kLeastDrift;
    if (goal_.nu > 0) {
      const auto error = [this](double x) {
        return least_squares_error(code(x), goal_.nu, goal_.own_exact, distinct_phases(shape_));
      };
      // Error a drift + b nu drift^-order, with a and b of the order of 1.
      const ScalarResult best = minimise_near(error, std::pow(goal_.nu, 1.0 / (1 + family_.order)),
                                              kLeastDrift, family_.most_drift);
      drift = best.x;
      evaluations_ += best.evaluations;
    }
    if (std::isfinite(limit_) && condition(drift) > limit_) drift = least_within_limit();
    return describe(drift);
  }

 private:
  PlainCode code(double drift) const {
    if (goal_.step) goal_.step();
    return family_.code(shape_.workers, shape_.components, drift);
  }

  double condition(double drift) {
    ++evaluations_;
    const PlainCode here = code(drift);
    double worst = 1;
    for (int p = 0; p < distinct_phases(shape_); ++p)
      worst = std::max(worst, condition_number(mixing_matrix(here, p, 0)));
    return worst;
  }

  double excess(double drift) { return std::log(condition(drift)) - std::log(limit_); }

  /// Where a power law through this point meets the limit.
  double predicted(double drift, double excess) const {
    const double log_step = std::isfinite(excess) ? std::abs(excess) / family_.order : 2.0;
    return drift * std::exp(std::copysign(std::clamp(log_step, 0.05, 2.0), excess));
  }

  /// Walks along the falling condition until the limit lies between two points, then closes in.
  double least_within_limit() {
    double drift = std::clamp(std::pow(limit_, -1.0 / family_.order), kLeastDrift, family_.most_drift);
    double here = excess(drift);
    while (true) {
      const double next = std::clamp(predicted(drift, here), kLeastDrift, family_.most_drift);
      if (next == drift) break;
      const double there = excess(next);
      const auto function = [this](double x) { return excess(x); };
      if (here > 0 && there <= 0) return crossing(function, drift, next, kConditionTolerance);
      if (here <= 0 && there > 0) return crossing(function, next, drift, kConditionTolerance);
      if (here > 0 && there > here) break;
      drift = next;
      here = there;
    }
    return here <= 0 ? drift : least_from_minimum(drift);
  }

  /// The limit is met about the minimum of the condition or nowhere; `above` does not meet it.
  double least_from_minimum(double above) {
    const ScalarResult least =
        minimise_near([this](double x) { return condition(x); }, above, kLeastDrift, family_.most_drift);
    if (least.value > limit_)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("condition limit {:g} is below {:.6g}, the least that the {} construction reaches "
                      "with {} components on {} workers; raise it.",
                      goal_.condition_limit, least.value, family_.name, shape_.components, shape_.workers));
    if (!(above < least.x)) return least.x;
    return crossing([this](double x) { return excess(x); }, above, least.x, kConditionTolerance);
  }

  OptimisedCode describe(double drift) {
    OptimisedCode result;
    result.code = code(drift);
    const Decoder decoder = least_squares_decoder(result.code, goal_.nu, goal_.own_exact);
    const runtime::ErrorClaim claim = claim_of(result.code, decoder, goal_.nu, goal_.own_exact);
    result.drift = drift;
    result.error = result.start_error = claim.total;
    result.condition = claim.condition;
    result.evaluations = evaluations_ + 1;
    if (!(claim.condition <= kMostCondition))
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the {} construction with {} components on {} workers has a condition number of "
                      "{:.3g} at its best drift {:.3g}, and double precision holds 1e13; choose a c "
                      "with fewer terms in a class than r = {}.",
                      family_.name, shape_.components, shape_.workers, claim.condition, drift, shape_.terms));
    if (family_.order == 0 && claim.condition > goal_.condition_limit)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("condition limit {:g} is below {:.6g}, that of the {} construction with {} "
                              "components on {} workers; raise it.",
                              goal_.condition_limit, claim.condition, family_.name, shape_.components,
                              shape_.workers));
    return result;
  }

  Family family_;
  runtime::Shape shape_;
  CodeGoal goal_;
  double limit_;
  int evaluations_ = 0;
};

OptimisedCode best_of(const Family& family, int workers, int components, const CodeGoal& goal) {
  if (workers < 2)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a plain code for {} workers is not a code; use at least 2.", workers));
  if (!(goal.nu >= 0) || (family.order > 0 && goal.nu == 0 && !std::isfinite(goal.condition_limit)))
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("nu is {} and the condition number is not limited; give a positive nu or a limit, "
                    "or else the best drift is none.",
                    goal.nu));
  return DriftSearch(family, workers, components, goal).run();
}

}  // namespace

OptimisedCode best_harmonic(int workers, int components, const CodeGoal& goal) {
  const runtime::Shape shape = runtime::make_shape(workers, components);
  const int order = (shape.terms + shape.chains - 1) / shape.chains - 1;
  return best_of({.name = "harmonic", .code = harmonic_code, .order = order, .most_drift = 10}, workers,
                 components, goal);
}

OptimisedCode best_vandermonde(int workers, int components, const CodeGoal& goal) {
  const int order = runtime::make_shape(workers, components).terms - 1;
  return best_of({.name = "vandermonde", .code = vandermonde_code, .order = order, .most_drift = 0.9},
                 workers, components, goal);
}

int distinct_phases(const runtime::Shape& shape) { return shape.classes; }

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
