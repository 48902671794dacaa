#include "tuner/code/plain/plain_code.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/code/singular_values.h"

namespace cerar::tuner {
namespace {

/// Multiples of it add up exactly in double precision to anything that a coefficient can become: twice its
/// largest value leaves room for the roundings of increments.
double sum_unit(const PlainCode& code, int chain, int term) {
  double most = 0;
  for (int visit = 1; visit <= code.shape.visits; ++visit)
    most = std::max(most, std::abs(code.at(chain, visit, term)));
  return most > 0 ? std::ldexp(1.0, std::ilogb(most) - 51) : 1.0;
}

}  // namespace

double PlainCode::at(int chain, int visit, int term) const {
  return visit <= 0 ? 0.0 : beta[beta_index(shape, chain, visit, term)];
}

PlainCode zero_code(const runtime::Shape& shape) {
  const std::size_t size = static_cast<std::size_t>(shape.chains) * shape.visits * shape.terms;
  return {.shape = shape, .beta = std::vector<double>(size, 0.0)};
}

std::size_t beta_index(const runtime::Shape& shape, int chain, int visit, int term) {
  return (static_cast<std::size_t>(chain) * shape.visits + (visit - 1)) * shape.terms + term;
}

PlainCode with_f32_increments(const PlainCode& code) {
  const runtime::Shape& shape = code.shape;
  PlainCode rounded = zero_code(shape);
  for (int chain = 0; chain < shape.chains; ++chain)
    for (int term = 0; term < shape.terms; ++term) {
      const double unit = sum_unit(code, chain, term);
      for (int visit = 1; visit <= shape.visits; ++visit) {
        // Increments are rounded one by one, not against the running sum: the offset that the first rounding
        // leaves then stays constant in time, where decoding does not amplify it.
        const double wanted = code.at(chain, visit, term) - code.at(chain, visit - shape.workers, term);
        const double increment = std::nearbyint(static_cast<float>(wanted) / unit) * unit;
        rounded.beta[beta_index(shape, chain, visit, term)] =
            rounded.at(chain, visit - shape.workers, term) + increment;
      }
    }
  return rounded;
}

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
