#include "tuner/code/plain/error_model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "runtime/plan/wire.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

double nu_of_blocks(int bits, int block) {
  // Beyond 9 standard deviations nothing is left of the integrand in double.
  constexpr int kSteps = 9000;
  constexpr double kStep = 9.0 / kSteps;
  double mean_square = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double m = (i + 0.5) * kStep;
    mean_square += 2 * m * (1 - std::pow(std::erf(m / std::numbers::sqrt2), block)) * kStep;
  }
  // The largest element itself is a whole number of scales.
  return std::sqrt(mean_square / 12 * (1 - 1.0 / block)) / (std::exp2(bits - 1) - 1);
}

double nu_of(runtime::Wire wire, int block) {
  const auto& format = runtime::format_of(wire);
  if (wire == runtime::Wire::f32) return kNuF32;
  return format.significand > 0 ? kRoundingRms * std::exp2(-format.significand)
                                : nu_of_blocks(format.bits, block);
}

namespace {

struct StackedSystem {
  Eigen::MatrixXd matrix, wanted;
};

StackedSystem stacked_system(const PlainCode& code, int phase, double nu, bool own_exact) {
  const int terms = code.shape.terms;
  const std::vector<RepeatedMixing> mixing = mixing_matrices(code, phase, own_exact ? 1 : 0);
  const int signal_rows = static_cast<int>(mixing.size()) * terms;
  const int noise_rows = nu > 0 ? terms : 0;
  StackedSystem system{.matrix = Eigen::MatrixXd(signal_rows + noise_rows, terms),
                       .wanted = Eigen::MatrixXd::Zero(signal_rows + noise_rows, terms)};
  for (std::size_t i = 0; i < mixing.size(); ++i) {
    const double weight = std::sqrt(mixing[i].count);
    system.matrix.middleRows(i * terms, terms) = weight * mixing[i].matrix;
    system.wanted.middleRows(i * terms, terms).diagonal().setConstant(weight);
  }
  if (noise_rows > 0) system.matrix.bottomRows(noise_rows) = nu * noise_root(code, phase);
  return system;
}

}  // namespace

Decoder least_squares_decoder(const PlainCode& code, double nu, bool own_exact) {
  if (!(nu >= 0))
    throw Error(ErrorCode::invalid_argument,
                "nu is " + std::to_string(nu) + "; the rounding error of a hop cannot be negative.");
  if (own_exact && code.shape.workers < 2)
    throw Error(ErrorCode::invalid_argument,
                "own-exact decoding needs at least 2 workers, not 1; leave it out.");
  Decoder decoder;
  for (int p = 0; p < code.shape.workers; ++p) {
    const StackedSystem system = stacked_system(code, p, nu, own_exact);
    decoder.phase.push_back(system.matrix.householderQr().solve(system.wanted));
  }
  return decoder;
}

double least_squares_error(const PlainCode& code, double nu, bool own_exact, int phases) {
  double squares = 0;
  for (int p = 0; p < phases; ++p) {
    StackedSystem system = stacked_system(code, p, nu, own_exact);
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(system.matrix);
    system.wanted.applyOnTheLeft(qr.householderQ().adjoint());
    squares += system.wanted.bottomRows(system.wanted.rows() - code.shape.terms).squaredNorm();
  }
  return std::sqrt(squares / (static_cast<double>(phases) * code.shape.workers * code.shape.terms));
}

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
