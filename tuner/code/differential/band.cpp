#include "tuner/code/differential/band.h"

#include <algorithm>
#include <cmath>

namespace cerar::tuner {

DifferentialBand::DifferentialBand(const runtime::Shape& shape, const runtime::DifferentialTables& tables)
    : shape_(shape), tables_(tables), inverse_epsilon_(1.0f / tables.epsilon) {}

std::array<double, DifferentialBand::kWidth> DifferentialBand::column(int phase, int delta, int k) const {
  // The kernels multiply by the f32 reciprocal, so that is what inverse_epsilon_ holds.
  const bool visited_again = delta < phase;
  const int visit_phase = (phase - delta + shape_.workers) % shape_.workers;
  const float* const latest = &tables_.extend[3 * visit_phase];
  const float* const first = &tables_.open[3 * visit_phase];
  std::array<double, kWidth> v = {};
  for (int i = 0; i < 3; ++i) v[i] = k == 0 ? first[i] : latest[i] * inverse_epsilon_;
  if (visited_again)
    for (int i = 0; i < 3; ++i) v[i + 1] += latest[i];
  for (int i = std::max(0, shape_.terms - k); i < kWidth; ++i) v[i] = 0;
  return v;
}

Eigen::MatrixXd DifferentialBand::noise_root(int phase, int k, int taps) const {
  const int workers = shape_.workers;
  Eigen::MatrixXd root = Eigen::MatrixXd::Zero(2 * taps, taps);
  int row = 0;
  // Hops since the last turn, as seen by sample k; before the first turn, hops 1..N-1 of a message that fills
  // up.
  double before = 0;
  if (k == 0) {
    for (int hop = 1; hop < workers; ++hop)
      for (int i = 0; i < std::min(3, shape_.terms); ++i)
        before += hop * static_cast<double>(tables_.open[3 * hop + i]) * tables_.open[3 * hop + i];
  } else {
    before = hop_variance(k - 1, 0, workers) * inverse_epsilon_ * inverse_epsilon_;
  }
  root(row++, 0) = std::sqrt(before);
  for (int tap = 0; tap < taps; ++tap) {
    // Hops between the turn and this phase: in this sample as they are, in the next one divided by epsilon.
    const double shared = std::sqrt(hop_variance(k + tap, 0, phase));
    root(row, tap) = shared;
    if (tap + 1 < taps) {
      root(row++, tap + 1) = shared * inverse_epsilon_;
      root(row++, tap + 1) = std::sqrt(hop_variance(k + tap, phase, workers)) * inverse_epsilon_;
    }
  }
  return root;
}

double DifferentialBand::hop_variance(int k, int first_phase, int end_phase) const {
  double sum = 0;
  for (int phase = first_phase; phase < end_phase; ++phase)
    for (double b : column(phase, 0, k)) sum += shape_.workers * b * b;
  return sum;
}

std::vector<ComponentGroup> component_groups(int terms) {
  // Component k reaches component k+5 and the noise of sample k-1; the first sample is opened, not extended.
  const int first = 2, last = terms - 6;
  std::vector<ComponentGroup> groups;
  for (int k = 0; k < terms; ++k)
    if (k < first || k > last)
      groups.push_back({k, 1});
    else if (k == first)
      groups.push_back({k, last - first + 1});
  return groups;
}

int tap_count(int terms, int component) { return std::min(3, terms - component); }

int decode_row(int terms, int component) { return 3 - tap_count(terms, component); }

int own_row(int terms, int sample) { return sample <= terms - 3 ? 0 : 1; }

}  // namespace cerar::tuner
