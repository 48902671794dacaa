#pragma once

#include <Eigen/Dense>
#include <functional>

namespace cerar::tuner {

/// Why an optimisation ended. Every name is also its text in reports.
enum class StopReason { converged, max_evaluations, roundoff_limited, solver_failed };
const char* name_of(StopReason reason);

/// A function and its inequality constraints at one point, with exact derivatives.
struct Evaluation {
  double value = 0;
  Eigen::VectorXd gradient;     ///< [variables]
  Eigen::VectorXd constraints;  ///< feasible where every entry is <= 0
  Eigen::MatrixXd jacobian;     ///< [constraints][variables]
};

struct MinimiseProblem {
  std::function<void(const Eigen::VectorXd& x, Evaluation& out)> evaluate;
  int constraints = 0;
  Eigen::VectorXd lower;  ///< bounds, [variables]
  Eigen::VectorXd upper;
  double constraint_tolerance = 1e-8;  ///< violations up to this count as feasible
  double relative_tolerance = 1e-6;    ///< of the value; smaller improvements end the search
  int max_evaluations = 500;
};

struct MinimiseResult {
  Eigen::VectorXd x;  ///< the best feasible point seen; the start where none was better
  double value = 0;
  double start_value = 0;
  int evaluations = 0;
  StopReason stop = StopReason::converged;
};

/// Local minimisation by sequential quadratic programming (NLopt's SLSQP); deterministic. Never returns a
/// point worse than a feasible start. Throws `invalid_argument` when the start is not feasible, and what
/// `evaluate` throws.
MinimiseResult minimise(const MinimiseProblem& problem, const Eigen::VectorXd& start);

struct ScalarResult {
  double x = 0;
  double value = 0;
  int evaluations = 0;
};

/// Minimum of a function of one positive variable in [lower, upper]: a grid, evenly spaced in the logarithm,
/// brackets it, golden section refines it to a relative width of 1e-3. Values that are not finite count as
/// worse than any other.
ScalarResult minimise_log_scale(const std::function<double(double)>& function, double lower, double upper);

/// Local minimum of a smooth positive function of one positive variable: walks downhill from `guess` until it
/// is bracketed, then fits parabolas to its logarithm over that of x, to a relative width of 1e-3. About ten
/// evaluations from a good guess. An end of [lower, upper] is a minimum like any other.
ScalarResult minimise_near(const std::function<double(double)>& function, double guess, double lower,
                           double upper);

/// Where a function of one positive variable comes down to 0: positive at `above`, 0 or less at `below`.
/// Regula falsi in log x. Returns a point where the function is 0 or less, within `tolerance` of 0 or a
/// relative 1e-12 from a positive value.
double crossing(const std::function<double(double)>& function, double above, double below, double tolerance);

}  // namespace cerar::tuner
