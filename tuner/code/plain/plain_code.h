#pragma once

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

}  // namespace cerar::tuner
