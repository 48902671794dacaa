#pragma once

#include <Eigen/Dense>
#include <vector>

#include "runtime/plan/shape.h"

namespace cerar::tuner {

/// A plain code: messages are linear combinations of components. tuner/DESIGN.md, section 2.
struct PlainCode {
  runtime::Shape shape;
  /// [chains][visits][terms] row-major: beta_j(t)[k], t = 1..T.
  std::vector<double> beta;

  /// beta_chain(visit)[term]; `visit` is 1-based and at most T, and the code is 0 for visit <= 0.
  double at(int chain, int visit, int term) const;
};

/// A code of the given shape with every coefficient 0.
PlainCode zero_code(const runtime::Shape& shape);

/// Position of beta_chain(visit)[term] in `PlainCode::beta`; requires 1 <= visit <= T.
std::size_t beta_index(const runtime::Shape& shape, int chain, int visit, int term);

/// The code that f32 kernels apply: every increment beta_j(t) - beta_j(t-N), which is what a worker adds at
/// visit t, is exactly a float, also when computed from the result in double; beta is their sum. A
/// coefficient that does not change keeps the increment 0.
PlainCode with_f32_increments(const PlainCode& code);

/// V_(p,delta) of a plain code, r x r, [term][sample]: how the worker `delta` places back stands in the
/// samples that phase p takes, in order of time. tuner/DESIGN.md, section 2.
Eigen::MatrixXd mixing_matrix(const PlainCode& code, int phase, int delta);

/// Equal mixing matrices of neighbouring delta are one entry; for an exact code all of them are.
struct RepeatedMixing {
  Eigen::MatrixXd matrix;
  int count = 1;
};
std::vector<RepeatedMixing> mixing_matrices(const PlainCode& code, int phase, int first_delta);

/// R with R^T R = K_p for nu = 1 (tuner/DESIGN.md, section 4), r columns (samples). Exact: a row is one run
/// of hops between two sample times of a chain, weighted by the root of their variance and spread over the
/// samples that come later.
Eigen::MatrixXd noise_root(const PlainCode& code, int phase);

/// Ratio of the largest to the least singular value; infinity where the latter is 0.
double condition_number(const Eigen::MatrixXd& matrix);

}  // namespace cerar::tuner
