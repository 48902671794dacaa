#include "tuner/code/plain/plain_tables.h"

#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/error_model.h"

namespace cerar::tuner {
namespace {

void require_size(const char* table, std::size_t size, std::size_t expected) {
  if (size != expected)
    throw Error(ErrorCode::invalid_plan, std::string("table ") + table + " has " + std::to_string(size) +
                                             " numbers instead of " + std::to_string(expected) +
                                             "; generate the plan again with cerar-tune.");
}

std::size_t decode_size(const runtime::Shape& shape) {
  return static_cast<std::size_t>(shape.workers) * shape.terms * shape.terms;
}

std::size_t decode_index(const runtime::Shape& shape, int phase, int sample, int term) {
  return (static_cast<std::size_t>(phase) * shape.terms + sample) * shape.terms + term;
}

}  // namespace

PlainDesign plain_design(const PlainCode& code, double nu) {
  const runtime::Shape& shape = code.shape;
  const PlainCode rounded = with_f32_increments(code);
  const Decoder decoder = least_squares_decoder(rounded, nu);

  PlainDesign design;
  design.tables.beta = rounded.beta;
  design.tables.decode.resize(decode_size(shape));
  for (int p = 0; p < shape.workers; ++p)
    for (int k = 0; k < shape.terms; ++k) {
      // Weight of a difference: sum of the weights of all samples that contain it, M apart.
      Eigen::VectorXd weight = decoder.phase[p].col(k);
      for (int s = shape.terms - 1; s >= 0; --s) {
        if (s + shape.chains < shape.terms) weight[s] += weight[s + shape.chains];
        design.tables.decode[decode_index(shape, p, s, k)] = static_cast<float>(weight[s]);
      }
    }
  design.claim = claim_of(shape, design.tables, nu);
  return design;
}

runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::PlainTables& tables, double nu) {
  require_size("beta", tables.beta.size(), zero_code(shape).beta.size());
  return claim_of(PlainCode{.shape = shape, .beta = tables.beta}, effective_decoder(shape, tables), nu);
}

Decoder effective_decoder(const runtime::Shape& shape, const runtime::PlainTables& tables) {
  require_size("decode", tables.decode.size(), decode_size(shape));
  Decoder decoder;
  for (int p = 0; p < shape.workers; ++p) {
    Eigen::MatrixXd d(shape.terms, shape.terms);
    for (int s = 0; s < shape.terms; ++s)
      for (int k = 0; k < shape.terms; ++k) {
        d(s, k) = tables.decode[decode_index(shape, p, s, k)];
        if (s + shape.chains < shape.terms)
          d(s, k) -= tables.decode[decode_index(shape, p, s + shape.chains, k)];
      }
    decoder.phase.push_back(d);
  }
  return decoder;
}

}  // namespace cerar::tuner
