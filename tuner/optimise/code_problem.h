#pragma once

#include <Eigen/Dense>
#include <vector>

#include "tuner/code/constructions/drifting.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/optimise/minimise.h"

namespace cerar::tuner {

/// The optimisation problem of tuner/DESIGN.md, section 7, for any c: a harmonic code whose drift is free,
/// and the same for all M = N/Q chains. Term k of degree n and function F is
///
///     beta_j(t)[k] = F(j) g_n(t),   g_n(t) = sum over m of x[n, m] epsilon^max(n, m) P_m(x_t),
///
/// n < R = ceil(c/N), degrees m = 0 .. min(R+5, T-1): the number of variables does not depend on M. Since the
/// chains are tied, phases that are equal modulo Q are copies of each other, and the sums run over Q of them.
///
/// value:        log of the total relative rms error, approximation and noise, with the best decoder for this
///               code
/// constraints:  log cond(V_(p,0)) - log_condition_limit for each phase p < Q (none where the limit is
///               infinite)
///
/// Derivatives are exact: of the value at fixed decoder (envelope theorem), of log cond from the first and
/// last singular pair.
class CodeProblem {
 public:
  /// `own_exact` as in `least_squares_decoder`.
  CodeProblem(const runtime::Shape& shape, double epsilon, double nu, double log_condition_limit,
              bool own_exact = false);

  int variables() const { return levels_ * degrees_; }
  int constraints() const;

  /// The harmonic code: x[n, m] = 1 for n = m, else 0.
  Eigen::VectorXd harmonic_start() const;
  PlainCode code_of(const Eigen::VectorXd& x) const;
  void evaluate(const Eigen::VectorXd& x, Evaluation& out) const;

 private:
  /// g as R x T, column t-1.
  Eigen::MatrixXd drift_of(const Eigen::VectorXd& x) const;
  /// dF/dx from dF/dg, both laid out as their arguments.
  Eigen::VectorXd pull_back(const Eigen::MatrixXd& drift_gradient) const;
  /// V of a phase at age tau = t_0 - delta, t_0 its first sample: it depends on the difference alone.
  Eigen::MatrixXd mixing(const Eigen::MatrixXd& drift, int phase, int tau) const;
  /// Adds to dF/dg what dF/dV of that matrix makes of it.
  void add_slope(const Eigen::MatrixXd& slope, int phase, int tau, Eigen::MatrixXd& gradient) const;
  /// LS objective of one phase; adds its gradient.
  double phase_error(const Eigen::MatrixXd& drift, int phase, Eigen::MatrixXd& gradient,
                     Eigen::VectorXd& hop_weights) const;

  runtime::Shape shape_;
  double nu_;
  double log_condition_limit_;
  bool own_exact_;
  std::vector<HarmonicTerm> terms_;
  int levels_;  ///< R
  int degrees_;
  Eigen::MatrixXd scale_;               ///< R x degrees: epsilon^max(n, m)
  Eigen::MatrixXd legendre_;            ///< degrees x T
  Eigen::VectorXd weight_;              ///< [R]: root of the number of terms of a degree
  std::vector<Eigen::MatrixXd> waves_;  ///< [Q], each r x r: F of term k on the chain of sample s
};

}  // namespace cerar::tuner
