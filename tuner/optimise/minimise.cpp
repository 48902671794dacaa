#include "tuner/optimise/minimise.h"

#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "runtime/base/error.h"

namespace cerar::tuner {
namespace {

constexpr double kGridPointsPerDecade = 3;
constexpr double kRelativeWidth = 1e-3;

/// NLopt asks for value and constraints in separate calls at the same point; both come from one evaluation.
struct Session {
  const MinimiseProblem& problem;
  nlopt_opt solver;
  MinimiseResult result;
  Eigen::VectorXd x;  // where `current` was evaluated
  Evaluation current;
  std::exception_ptr failure;  // exceptions must not pass through C

  const Evaluation& at(const double* point, unsigned size) {
    const Eigen::Map<const Eigen::VectorXd> wanted(point, size);
    if (x.size() != 0 && x == wanted) return current;
    x = wanted;
    try {
      problem.evaluate(x, current);
    } catch (...) {
      failure = std::current_exception();
      nlopt_force_stop(solver);
      return current;
    }
    ++result.evaluations;
    if (std::isfinite(current.value) && current.value < result.value && is_feasible()) {
      result.x = x;
      result.value = current.value;
    }
    return current;
  }

  bool is_feasible() const {
    return problem.constraints == 0 || current.constraints.maxCoeff() <= problem.constraint_tolerance;
  }
};

double objective_callback(unsigned size, const double* x, double* gradient, void* data) {
  Session& session = *static_cast<Session*>(data);
  const Evaluation& here = session.at(x, size);
  if (session.failure) return std::numeric_limits<double>::infinity();
  if (gradient) Eigen::Map<Eigen::VectorXd>(gradient, size) = here.gradient;
  return std::isfinite(here.value) ? here.value : std::numeric_limits<double>::infinity();
}

void constraint_callback(unsigned count, double* values, unsigned size, const double* x, double* gradient,
                         void* data) {
  Session& session = *static_cast<Session*>(data);
  const Evaluation& here = session.at(x, size);
  if (session.failure) return;
  Eigen::Map<Eigen::VectorXd>(values, count) = here.constraints;
  if (gradient)
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(gradient, count,
                                                                                       size) = here.jacobian;
}

StopReason reason_of(nlopt_result code) {
  if (code == NLOPT_MAXEVAL_REACHED) return StopReason::max_evaluations;
  if (code == NLOPT_ROUNDOFF_LIMITED) return StopReason::roundoff_limited;
  return code > 0 ? StopReason::converged : StopReason::solver_failed;
}

}  // namespace

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::max_evaluations:
      return "max_evaluations";
    case StopReason::roundoff_limited:
      return "roundoff_limited";
    case StopReason::solver_failed:
      return "solver_failed";
  }
  return "unknown";
}

MinimiseResult minimise(const MinimiseProblem& problem, const Eigen::VectorXd& start) {
  const unsigned size = static_cast<unsigned>(start.size());
  const std::unique_ptr<std::remove_pointer_t<nlopt_opt>, decltype(&nlopt_destroy)> solver(
      nlopt_create(NLOPT_LD_SLSQP, size), &nlopt_destroy);
  Session session{
      .problem = problem, .solver = solver.get(), .result = {}, .x = {}, .current = {}, .failure = {}};
  session.result.value = std::numeric_limits<double>::infinity();
  session.at(start.data(), size);
  if (session.failure) std::rethrow_exception(session.failure);
  if (session.result.x.size() == 0)
    throw Error(ErrorCode::invalid_argument, "the start of the optimisation violates a constraint by " +
                                                 std::to_string(session.current.constraints.maxCoeff()) +
                                                 "; start from a feasible code.");
  session.result.start_value = session.result.value;

  nlopt_set_min_objective(solver.get(), objective_callback, &session);
  nlopt_set_lower_bounds(solver.get(), problem.lower.data());
  nlopt_set_upper_bounds(solver.get(), problem.upper.data());
  nlopt_set_ftol_rel(solver.get(), problem.relative_tolerance);
  nlopt_set_maxeval(solver.get(), problem.max_evaluations);
  if (problem.constraints > 0) {
    const Eigen::VectorXd tolerances =
        Eigen::VectorXd::Constant(problem.constraints, problem.constraint_tolerance);
    nlopt_add_inequality_mconstraint(solver.get(), problem.constraints, constraint_callback, &session,
                                     tolerances.data());
  }
  Eigen::VectorXd x = start;
  double value = 0;
  const nlopt_result code = nlopt_optimize(solver.get(), x.data(), &value);
  if (session.failure) std::rethrow_exception(session.failure);
  session.result.stop = reason_of(code);
  return session.result;
}

ScalarResult minimise_log_scale(const std::function<double(double)>& function, double lower, double upper) {
  ScalarResult best{.x = lower, .value = std::numeric_limits<double>::infinity()};
  const auto value_at = [&](double log_x) {
    const double x = std::exp(log_x);
    const double raw = function(x);
    const double value = std::isfinite(raw) ? raw : std::numeric_limits<double>::infinity();
    ++best.evaluations;
    if (value < best.value) {
      best.x = x;
      best.value = value;
    }
    return value;
  };
  const double first = std::log(lower), last = std::log(upper);
  const int intervals =
      std::max(2, static_cast<int>(std::ceil((last - first) / std::log(10.0) * kGridPointsPerDecade)));
  const double step = (last - first) / intervals;
  for (int i = 0; i <= intervals; ++i) value_at(first + i * step);

  double a = std::max(first, std::log(best.x) - step), b = std::min(last, std::log(best.x) + step);
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double x1 = b - ratio * (b - a), x2 = a + ratio * (b - a);
  double value1 = value_at(x1), value2 = value_at(x2);
  while (b - a > kRelativeWidth) {
    if (value1 <= value2) {
      b = x2;
      x2 = x1;
      value2 = value1;
      x1 = b - ratio * (b - a);
      value1 = value_at(x1);
    } else {
      a = x1;
      x1 = x2;
      value1 = value2;
      x2 = a + ratio * (b - a);
      value2 = value_at(x2);
    }
  }
  return best;
}

}  // namespace cerar::tuner
