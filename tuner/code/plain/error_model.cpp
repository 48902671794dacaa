#include "tuner/code/plain/error_model.h"

#include <algorithm>
#include <cmath>

#include "tuner/code/plain/phase_system.h"

namespace cerar::tuner {
namespace {

/// Over delta >= first_delta, and with `own` what a rank's correction leaves of E_(p,0).
runtime::ErrorClaim claim_from(const PlainCode& code, const Decoder& decoder, double nu, int first_delta,
                               const std::vector<Eigen::MatrixXd>* own) {
  const int terms = code.shape.terms;
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(terms, terms);
  std::vector<double> squares(code.shape.workers, 0.0);
  double noise = 0, condition = 1;
  for (int p = 0; p < code.shape.workers; ++p) {
    const Eigen::MatrixXd& d = decoder.phase[p];
    const Eigen::MatrixXd mine = mixing_matrix(code, p, 0);
    if (own) squares[p] += (mine * d - identity + (*own)[p]).squaredNorm();
    for (const RepeatedMixing& mixing : mixing_matrices(code, p, first_delta))
      squares[p] += mixing.count * (mixing.matrix * d - identity).squaredNorm();
    noise += (noise_root(code, p) * d).squaredNorm();
    condition = std::max(condition, condition_number(mine));
  }
  return claim_from_sums(code.shape, squares, noise, condition, nu);
}

}  // namespace

runtime::ErrorClaim claim_of(const PlainCode& code, const Decoder& decoder, double nu, bool own_exact) {
  return claim_from(code, decoder, nu, own_exact ? 1 : 0, nullptr);
}

runtime::ErrorClaim claim_of(const PlainCode& code, const Decoder& decoder, double nu,
                             const std::vector<Eigen::MatrixXd>& own) {
  return claim_from(code, decoder, nu, 1, &own);
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
