#include "tuner/code/plain/plain_tables.h"

#include <string>

#include "runtime/base/error.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"

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

/// In the basis of runtime/plan/plan.h, rounded to f32.
std::vector<float> decode_table(const runtime::Shape& shape, const Decoder& decoder) {
  std::vector<float> table(decode_size(shape));
  for (int p = 0; p < shape.workers; ++p)
    for (int k = 0; k < shape.terms; ++k) {
      // Weight of a difference: sum of the weights of all samples that contain it, M apart.
      Eigen::VectorXd weight = decoder.phase[p].col(k);
      for (int s = shape.terms - 1; s >= 0; --s) {
        if (s + shape.chains < shape.terms) weight[s] += weight[s + shape.chains];
        table[decode_index(shape, p, s, k)] = static_cast<float>(weight[s]);
      }
    }
  return table;
}

void add_out_of_place(const PlainCode& rounded, double nu, PlainDesign& design) {
  const runtime::Shape& shape = rounded.shape;
  auto& tables = design.tables;
  tables.decode_out_of_place = decode_table(shape, least_squares_decoder(rounded, nu, true));
  tables.own_out_of_place.resize(decode_size(shape));
  const Decoder decoder = effective_decoder(shape, tables.decode_out_of_place);
  for (int p = 0; p < shape.workers; ++p) {
    const Eigen::MatrixXd received = mixing_matrix(rounded, p, 0) * decoder.phase[p];
    for (int m = 0; m < shape.terms; ++m)
      for (int k = 0; k < shape.terms; ++k)
        tables.own_out_of_place[decode_index(shape, p, m, k)] =
            static_cast<float>((m == k ? 1.0 : 0.0) - received(m, k));
  }
  design.claim_out_of_place = out_of_place_claim_of(shape, tables, nu);
}

}  // namespace

PlainDesign plain_design(const PlainCode& code, double nu) {
  const runtime::Shape& shape = code.shape;
  const PlainCode rounded = with_f32_increments(code);
  PlainDesign design;
  design.tables.beta = rounded.beta;
  design.tables.decode = decode_table(shape, least_squares_decoder(rounded, nu));
  design.claim = claim_of(shape, design.tables, nu);
  if (runtime::can_decode_out_of_place(shape)) add_out_of_place(rounded, nu, design);
  return design;
}

runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::PlainTables& tables, double nu) {
  require_size("beta", tables.beta.size(), zero_code(shape).beta.size());
  require_size("decode", tables.decode.size(), decode_size(shape));
  return claim_of(PlainCode{.shape = shape, .beta = tables.beta}, effective_decoder(shape, tables.decode),
                  nu);
}

std::optional<runtime::ErrorClaim> out_of_place_claim_of(const runtime::Shape& shape,
                                                         const runtime::PlainTables& tables, double nu) {
  if (tables.decode_out_of_place.empty()) return std::nullopt;
  require_size("beta", tables.beta.size(), zero_code(shape).beta.size());
  require_size("decode_out_of_place", tables.decode_out_of_place.size(), decode_size(shape));
  require_size("own_out_of_place", tables.own_out_of_place.size(), decode_size(shape));
  std::vector<Eigen::MatrixXd> own(shape.workers, Eigen::MatrixXd(shape.terms, shape.terms));
  for (int p = 0; p < shape.workers; ++p)
    for (int m = 0; m < shape.terms; ++m)
      for (int k = 0; k < shape.terms; ++k)
        own[p](m, k) = tables.own_out_of_place[decode_index(shape, p, m, k)];
  return claim_of(PlainCode{.shape = shape, .beta = tables.beta},
                  effective_decoder(shape, tables.decode_out_of_place), nu, own);
}

Decoder effective_decoder(const runtime::Shape& shape, const std::vector<float>& decode) {
  Decoder decoder;
  for (int p = 0; p < shape.workers; ++p) {
    Eigen::MatrixXd d(shape.terms, shape.terms);
    for (int s = 0; s < shape.terms; ++s)
      for (int k = 0; k < shape.terms; ++k) {
        d(s, k) = decode[decode_index(shape, p, s, k)];
        if (s + shape.chains < shape.terms) d(s, k) -= decode[decode_index(shape, p, s + shape.chains, k)];
      }
    decoder.phase.push_back(d);
  }
  return decoder;
}

}  // namespace cerar::tuner
