#pragma once

#include <Eigen/Dense>
#include <array>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::tuner {

/// What the f32 tables of a differential code do, in double: coefficients of its samples and their noise.
/// tuner/DESIGN.md, section 6; the protocol is that of templates/differential.cu.
///
/// Sample k of phase p is taken at visit t = (k+1) N + p. It holds components k..k+3 only: a visit at t'
/// contributes to components m..m+2, m = floor((t'-1)/N), and phase 0 subtracts and divides by epsilon at t =
/// 2N, 3N, ..., after which every worker stands in the message with its latest contribution / epsilon.
class DifferentialBand {
 public:
  static constexpr int kWidth = 4;

  /// Keeps references; both must outlive the band.
  DifferentialBand(const runtime::Shape& shape, const runtime::DifferentialTables& tables);

  /// V_(p,delta)[k + i, k], i = 0..3; entries of components >= r are 0.
  std::array<double, kWidth> column(int phase, int delta, int k) const;

  /// Rows of a root R, R^T R = covariance (nu = 1) of samples k .. k+taps-1 at phase p. tuner/DESIGN.md,
  /// section 6: hop h adds variance min(h, N) |coefficients of its sender|^2; covariances come from the hops
  /// that samples share.
  Eigen::MatrixXd noise_root(int phase, int k, int taps) const;

 private:
  double hop_variance(int k, int first_phase, int end_phase) const;

  const runtime::Shape& shape_;
  const runtime::DifferentialTables& tables_;
  double inverse_epsilon_;
};

/// Components that decode alike: for r > 8 all those in the middle share one entry, whose band, noise and
/// taps are the same number by number.
struct ComponentGroup {
  int component = 0;
  int count = 1;
};
std::vector<ComponentGroup> component_groups(int terms);

/// Taps of component k: samples k, k+1, k+2 as far as they exist.
int tap_count(int terms, int component);

/// Row of `DifferentialTables::decode` that component k uses, and of `own` that sample k uses (k <= r-2).
int decode_row(int terms, int component);
int own_row(int terms, int sample);

}  // namespace cerar::tuner
