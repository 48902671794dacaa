#pragma once

#include <Eigen/Dense>
#include <vector>

#include "tuner/code/plain/plain_code.h"
#include "tuner/optimise/minimise.h"

namespace cerar::tuner {

/// The optimisation problem of design, section 2, for one chain per class (c = rN):
///
///     beta(t)[k] = sum over n of x[k, n] epsilon^max(k, n) P_n(x_t),      degrees n = 0 .. min(r+5, T-1)
///
/// value:        log of the total relative rms error, approximation and noise, with the best decoder for this
/// code constraints:  log cond(V_(p,0)) - log_condition_limit for each phase p (none where the limit is
/// infinite)
///
/// Derivatives are exact: of the value at fixed decoder (envelope theorem), of log cond from the first and
/// last singular pair.
class CodeProblem {
 public:
  /// `own_exact` as in `least_squares_decoder`.
  CodeProblem(const runtime::Shape& shape, double epsilon, double nu, double log_condition_limit,
              bool own_exact = false);

  int variables() const { return shape_.terms * degrees_; }
  int constraints() const;

  /// The harmonic code: x[k, n] = 1 for k = n, else 0.
  Eigen::VectorXd harmonic_start() const;
  PlainCode code_of(const Eigen::VectorXd& x) const;
  void evaluate(const Eigen::VectorXd& x, Evaluation& out) const;

 private:
  /// beta as r x T, column t-1.
  Eigen::MatrixXd beta_of(const Eigen::VectorXd& x) const;
  /// dF/dx from dF/dbeta, both laid out as their arguments.
  Eigen::VectorXd pull_back(const Eigen::MatrixXd& beta_gradient) const;
  /// LS objective of one phase; adds its gradient.
  double phase_error(const Eigen::MatrixXd& beta, int phase, Eigen::MatrixXd& gradient,
                     Eigen::VectorXd& hop_weights) const;

  runtime::Shape shape_;
  double nu_;
  double log_condition_limit_;
  bool own_exact_;
  int degrees_;
  Eigen::MatrixXd scale_;     ///< r x degrees: epsilon^max(k, n)
  Eigen::MatrixXd legendre_;  ///< degrees x T
};

}  // namespace cerar::tuner
