#include "tuner/code/plain/decoder.h"

#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/phase_system.h"

namespace cerar::tuner {
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

}  // namespace cerar::tuner
