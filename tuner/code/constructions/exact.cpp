#include "tuner/code/constructions/exact.h"

#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {
namespace {

/// Whether entry (row, column) of the matrix is 1.
bool is_one(int rows, int columns, int row, int column) {
  while (true) {
    if (rows >= columns) {  // an identity on top, the rest below it
      if (row < columns) return row == column;
      row -= columns;
      rows -= columns;
    } else {  // an identity at the left, the rest beside it
      if (column < rows) return row == column;
      column -= rows;
      columns -= rows;
    }
  }
}

/// Sum of i for i = 2..count: variance of adding up so many components, one rounding each.
double sums_square(double count) { return count > 1 ? count * (count + 1) / 2 - 1 : 0; }

/// Noise of one decoded component, for nu = 1 of messages that are rounded when they are sent: partial sums
/// of 1..N-1 workers, and the whole one where it has been passed on; what nothing is added to any more is not
/// rounded again. Samples of a phase lie on different chains, so that their noise is independent.
double wire_noise_square(const runtime::Shape& shape, int phase, const Eigen::MatrixXd& mixing,
                         const Eigen::VectorXd& weights) {
  const double n = shape.workers;
  double sum = 0;
  for (int s = 0; s < shape.terms; ++s) {
    const int visit = runtime::visit_time(shape, phase, runtime::first_sample_visit(shape, phase) + s);
    const double hops = n * (n - 1) / 2 + (visit > shape.workers ? n : 0);
    sum += weights[s] * weights[s] * mixing.col(s).squaredNorm() * hops;
  }
  return sum;
}

/// The same for messages of f32, where additions round, once each, and sending does not: those of a worker's
/// components, of messages 2..N, and of the decoder. kNuF32 stands for two roundings.
double f32_noise_square(const runtime::Shape& shape, const Eigen::MatrixXd& mixing,
                        const Eigen::VectorXd& weights) {
  const double n = shape.workers;
  double sum = 0;
  Eigen::VectorXd decoded = Eigen::VectorXd::Zero(shape.terms);
  bool first = true;
  for (int s = shape.terms - 1; s >= 0; --s) {  // in the kernels' order
    if (weights[s] == 0) continue;
    const double components = mixing.col(s).squaredNorm();
    sum += weights[s] * weights[s] * (components * (n * (n + 1) / 2 - 1) + n * sums_square(components));
    decoded += weights[s] * mixing.col(s);
    if (!first) sum += n * decoded.squaredNorm();
    first = false;
  }
  return sum / 2;
}

}  // namespace

PlainCode unimodular_code(int workers, int components) {
  const runtime::Shape shape = runtime::make_shape(workers, components);
  if (components > workers)
    throw Error(ErrorCode::invalid_argument, "components is " + std::to_string(components) +
                                                 " but unimodular codes for " + std::to_string(workers) +
                                                 " workers end at that many; choose 1 to " +
                                                 std::to_string(workers) + ".");
  PlainCode code = zero_code(shape);
  for (int chain = 0; chain < shape.chains; ++chain)
    for (int visit = 1; visit <= shape.visits; ++visit)
      for (int term = 0; term < shape.terms; ++term)
        if (is_one(shape.chains, shape.terms, chain, term))
          code.beta[beta_index(shape, chain, visit, term)] = term % 2 == 0 ? 1 : -1;
  return code;
}

PlainDesign unimodular_design(int workers, int components, runtime::Wire wire, int block) {
  const PlainCode code = unimodular_code(workers, components);
  PlainDesign design;
  design.tables.beta = code.beta;
  for (const Eigen::MatrixXd& inverse : least_squares_decoder(code, 0).phase)
    for (int s = 0; s < code.shape.terms; ++s)
      for (int k = 0; k < code.shape.terms; ++k)
        design.tables.decode.push_back(static_cast<float>(std::round(inverse(s, k))));
  design.claim = unimodular_claim(code.shape, design.tables, wire, block);
  return design;
}

runtime::ErrorClaim unimodular_claim(const runtime::Shape& shape, const runtime::PlainTables& tables,
                                     runtime::Wire wire, int block) {
  const double nu = nu_of(wire, block);
  runtime::ErrorClaim claim = claim_of(shape, tables, nu);
  const PlainCode code{.shape = shape, .beta = tables.beta};
  const Decoder decoder = effective_decoder(shape, tables.decode);
  double squares = 0;
  for (int p = 0; p < shape.workers; ++p) {
    const Eigen::MatrixXd mixing = mixing_matrix(code, p, 0);
    for (int k = 0; k < shape.terms; ++k)
      squares += wire == runtime::Wire::f32 ? f32_noise_square(shape, mixing, decoder.phase[p].col(k))
                                            : wire_noise_square(shape, p, mixing, decoder.phase[p].col(k));
  }
  claim.noise_gain = std::sqrt(squares / (static_cast<double>(shape.workers) * shape.workers * shape.terms));
  claim.noise = nu * claim.noise_gain;
  claim.total = std::hypot(claim.approximation, claim.noise);
  return claim;
}

runtime::ErrorClaim sum_claim(const runtime::Shape& shape, double nu) {
  const double n = shape.workers;
  const double partial = n * (n - 1) / 2, whole = shape.visits > shape.workers ? n : 0;
  runtime::ErrorClaim claim;
  claim.noise_gain = std::sqrt((partial + whole) / n);
  claim.noise = claim.total = nu * claim.noise_gain;
  return claim;
}

}  // namespace cerar::tuner
