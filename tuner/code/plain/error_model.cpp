#include "tuner/code/plain/error_model.h"

#include <algorithm>
#include <cmath>

#include "tuner/code/plain/phase_system.h"

namespace cerar::tuner {

runtime::ErrorClaim claim_of(const PlainCode& code, const Decoder& decoder, double nu, bool own_exact) {
  const int terms = code.shape.terms;
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(terms, terms);
  std::vector<double> squares(code.shape.workers, 0.0);
  double noise = 0, condition = 1;
  for (int p = 0; p < code.shape.workers; ++p) {
    const Eigen::MatrixXd& d = decoder.phase[p];
    for (const RepeatedMixing& mixing : mixing_matrices(code, p, own_exact ? 1 : 0))
      squares[p] += mixing.count * (mixing.matrix * d - identity).squaredNorm();
    noise += (noise_root(code, p) * d).squaredNorm();
    condition = std::max(condition, condition_number(mixing_matrix(code, p, 0)));
  }
  return claim_from_sums(code.shape, squares, noise, condition, nu);
}

runtime::ErrorClaim claim_from_sums(const runtime::Shape& shape,
                                    const std::vector<double>& approximation_squares, double noise_squares,
                                    double condition, double nu) {
  const double per_phase = static_cast<double>(shape.workers) * shape.terms;
  double sum = 0, worst = 0;
  for (double square : approximation_squares) {
    sum += square;
    worst = std::max(worst, square);
  }
  runtime::ErrorClaim claim;
  claim.condition = condition;
  claim.noise_gain = std::sqrt(noise_squares / (per_phase * shape.workers));
  claim.approximation = std::sqrt(sum / (per_phase * shape.workers));
  claim.approximation_worst = std::sqrt(worst / per_phase);
  claim.noise = nu * claim.noise_gain;
  claim.total = std::hypot(claim.approximation, claim.noise);
  return claim;
}

}  // namespace cerar::tuner
