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

namespace {

constexpr double kWidth = 1e-3;
constexpr double kFirstStep = 0.7;  // of log x
constexpr int kMostSteps = 60;

struct Point {
  double x;  // logarithms
  double value;
};

/// Vertex of the parabola through three points, the middle one lowest.
double vertex(const Point& a, const Point& b, const Point& c) {
  const double left = (b.x - a.x) * (b.value - c.value), right = (b.x - c.x) * (b.value - a.value);
  const double denominator = 2 * (left - right);
  if (denominator == 0 || !std::isfinite(denominator)) return b.x;
  return b.x - ((b.x - a.x) * left - (b.x - c.x) * right) / denominator;
}

class Search {
 public:
  Search(const std::function<double(double)>& function, double lower, double upper)
      : function_(function), lower_(std::log(lower)), upper_(std::log(upper)) {}

  ScalarResult run(double guess) {
    if (bracket(std::clamp(std::log(guess), lower_, upper_))) refine();
    return {.x = std::exp(b_.x), .value = std::exp(b_.value), .evaluations = evaluations_};
  }

 private:
  Point at(double x) {
    ++evaluations_;
    const double value = function_(std::exp(x));
    return {x, std::isfinite(value) ? std::log(value) : std::numeric_limits<double>::infinity()};
  }

  /// Sets a < b < c with b lowest; false where b is an end of the range.
  bool bracket(double start) {
    b_ = at(start);
    a_ = at(std::max(lower_, start - kFirstStep));
    c_ = at(std::min(upper_, start + kFirstStep));
    double step = kFirstStep;
    while (a_.value < b_.value && a_.x > lower_) {
      step *= 1.5;
      c_ = b_;
      b_ = a_;
      a_ = at(std::max(lower_, b_.x - step));
    }
    while (c_.value < b_.value && c_.x < upper_) {
      step *= 1.5;
      a_ = b_;
      b_ = c_;
      c_ = at(std::min(upper_, b_.x + step));
    }
    if (a_.value < b_.value) b_ = a_;
    if (c_.value < b_.value) b_ = c_;
    return b_.x > a_.x && b_.x < c_.x;
  }

  void refine() {
    for (int i = 0; i < kMostSteps && c_.x - a_.x > kWidth; ++i) {
      const bool left_is_wider = b_.x - a_.x > c_.x - b_.x;
      double x = vertex(a_, b_, c_);
      // Close to b, a probe on the wider side closes the bracket there; every third step halves that side, as
      // parabolas may creep up from one side.
      if (std::abs(x - b_.x) < 0.4 * kWidth) x = b_.x + (left_is_wider ? -0.4 : 0.4) * kWidth;
      if (i % 3 == 2 || !(x > a_.x && x < c_.x)) x = 0.5 * (b_.x + (left_is_wider ? a_.x : c_.x));
      const Point probe = at(x);
      if (probe.value < b_.value) {
        (x < b_.x ? c_ : a_) = b_;
        b_ = probe;
      } else {
        (x < b_.x ? a_ : c_) = probe;
      }
    }
  }

  const std::function<double(double)>& function_;
  double lower_, upper_;
  Point a_{}, b_{}, c_{};
  int evaluations_ = 0;
};

}  // namespace

ScalarResult minimise_near(const std::function<double(double)>& function, double guess, double lower,
                           double upper) {
  return Search(function, lower, upper).run(guess);
}

double crossing(const std::function<double(double)>& function, double above, double below, double tolerance) {
  double a = std::log(above), b = std::log(below), found = below;
  double value = function(below), weight_a = function(above), weight_b = value;
  int last = 0;
  for (int i = 0; i < kMostSteps && value < -tolerance && std::abs(b - a) > 1e-12; ++i) {
    double x = (a * weight_b - b * weight_a) / (weight_b - weight_a);
    if (!(x > std::min(a, b) && x < std::max(a, b))) x = 0.5 * (a + b);
    const double here = function(std::exp(x));
    // An end that stays twice counts half, or else it would stay for good (the Illinois rule).
    if (here > 0) {
      a = x;
      weight_a = here;
      if (last == 1) weight_b *= 0.5;
      last = 1;
    } else {
      b = x;
      found = std::exp(x);
      value = weight_b = here;
      if (last == -1) weight_a *= 0.5;
      last = -1;
    }
  }
  return found;
}

}  // namespace cerar::tuner
