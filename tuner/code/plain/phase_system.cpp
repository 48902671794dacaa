#include "tuner/code/plain/phase_system.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/code/singular_values.h"

namespace cerar::tuner {
namespace {

struct Sample {
  int visit;
  int chain;
};

Sample sample_of(const runtime::Shape& shape, int phase, int number) {
  const int visit = runtime::visit_time(shape, phase, runtime::first_sample_visit(shape, phase) + number);
  return {visit, runtime::chain_at(shape, phase, visit)};
}

/// Variance that hops first..last (inclusive) of a chain add to its message, for nu = 1.
double hop_variance(const PlainCode& code, int chain, int first, int last) {
  double sum = 0;
  for (int hop = first; hop <= last; ++hop)
    for (int k = 0; k < code.shape.terms; ++k) {
      const double b = code.at(chain, hop, k);
      sum += std::min(hop, code.shape.workers) * b * b;
    }
  return sum;
}

}  // namespace

Eigen::MatrixXd mixing_matrix(const PlainCode& code, int phase, int delta) {
  const int terms = code.shape.terms;
  Eigen::MatrixXd v(terms, terms);
  for (int s = 0; s < terms; ++s) {
    const Sample sample = sample_of(code.shape, phase, s);
    for (int k = 0; k < terms; ++k) v(k, s) = code.at(sample.chain, sample.visit - delta, k);
  }
  return v;
}

std::vector<RepeatedMixing> mixing_matrices(const PlainCode& code, int phase, int first_delta) {
  std::vector<RepeatedMixing> distinct;
  for (int delta = first_delta; delta < code.shape.workers; ++delta) {
    Eigen::MatrixXd v = mixing_matrix(code, phase, delta);
    if (!distinct.empty() && distinct.back().matrix == v)
      ++distinct.back().count;
    else
      distinct.push_back({std::move(v), 1});
  }
  return distinct;
}

Eigen::MatrixXd noise_root(const PlainCode& code, int phase) {
  const int terms = code.shape.terms;
  std::vector<Sample> samples;
  for (int s = 0; s < terms; ++s) samples.push_back(sample_of(code.shape, phase, s));

  Eigen::MatrixXd root = Eigen::MatrixXd::Zero(terms, terms);
  for (int s = 0; s < terms; ++s) {
    int previous_visit = 1;
    for (int earlier = 0; earlier < s; ++earlier)
      if (samples[earlier].chain == samples[s].chain) previous_visit = samples[earlier].visit;
    const double weight =
        std::sqrt(hop_variance(code, samples[s].chain, previous_visit, samples[s].visit - 1));
    for (int later = s; later < terms; ++later)
      if (samples[later].chain == samples[s].chain) root(s, later) = weight;
  }
  return root;
}

double condition_number(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd values = singular_values(matrix).values;
  const double least = values[values.size() - 1];
  return least > 0 ? values[0] / least : std::numeric_limits<double>::infinity();
}

}  // namespace cerar::tuner
