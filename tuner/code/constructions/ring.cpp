#include "tuner/code/constructions/ring.h"

#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/decoder.h"

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

}  // namespace

PlainCode ring_code(int workers, int components) {
  const runtime::Shape shape = runtime::make_shape(workers, components);
  if (components > workers)
    throw Error(ErrorCode::invalid_argument, "components is " + std::to_string(components) +
                                                 " but exact codes for " + std::to_string(workers) +
                                                 " workers end at that many; choose 1 to " +
                                                 std::to_string(workers) + ".");
  PlainCode code = zero_code(shape);
  for (int chain = 0; chain < shape.chains; ++chain)
    for (int visit = 1; visit <= shape.visits; ++visit)
      for (int term = 0; term < shape.terms; ++term)
        if (is_one(shape.chains, shape.terms, chain, term))
          code.beta[beta_index(shape, chain, visit, term)] = 1;
  return code;
}

PlainDesign ring_design(int workers, int components, double nu) {
  const PlainCode code = ring_code(workers, components);
  PlainDesign design;
  design.tables.beta = code.beta;
  for (const Eigen::MatrixXd& inverse : least_squares_decoder(code, 0).phase)
    for (int s = 0; s < code.shape.terms; ++s)
      for (int k = 0; k < code.shape.terms; ++k)
        design.tables.decode.push_back(static_cast<float>(std::round(inverse(s, k))));
  design.claim = claim_of(code.shape, design.tables, nu);
  return design;
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
