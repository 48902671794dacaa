#include "tuner/code/plain/decoder.h"

#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/phase_system.h"

namespace cerar::tuner {
namespace {

Eigen::MatrixXd decode_phase(const PlainCode& code, int phase, double nu, bool own_exact) {
  const int terms = code.shape.terms;
  const std::vector<RepeatedMixing> mixing = mixing_matrices(code, phase, own_exact ? 1 : 0);
  const int signal_rows = static_cast<int>(mixing.size()) * terms;
  const int noise_rows = nu > 0 ? terms : 0;
  Eigen::MatrixXd system(signal_rows + noise_rows, terms);
  Eigen::MatrixXd wanted = Eigen::MatrixXd::Zero(signal_rows + noise_rows, terms);
  for (std::size_t i = 0; i < mixing.size(); ++i) {
    const double weight = std::sqrt(mixing[i].count);
    system.middleRows(i * terms, terms) = weight * mixing[i].matrix;
    wanted.middleRows(i * terms, terms).diagonal().setConstant(weight);
  }
  if (noise_rows > 0) system.bottomRows(noise_rows) = nu * noise_root(code, phase);
  return system.householderQr().solve(wanted);
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
  for (int p = 0; p < code.shape.workers; ++p) decoder.phase.push_back(decode_phase(code, p, nu, own_exact));
  return decoder;
}

}  // namespace cerar::tuner
