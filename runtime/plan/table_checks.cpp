#include "runtime/plan/table_checks.h"

#include <fmt/format.h>

namespace cerar::runtime {
namespace {

std::optional<std::string> problem_of(const Shape& shape, const PlainTables& tables) {
  const auto visits = static_cast<std::size_t>(shape.visits), terms = static_cast<std::size_t>(shape.terms),
             revolution = static_cast<std::size_t>(shape.workers) * terms;
  for (std::size_t at = 0; at < tables.beta.size(); ++at) {
    const std::size_t visit = at / terms % visits;
    const double before =
        visit < static_cast<std::size_t>(shape.workers) ? 0.0 : tables.beta[at - revolution];
    const double increment = tables.beta[at] - before;
    if (static_cast<double>(static_cast<float>(increment)) != increment)
      return fmt::format(
          "beta[{}][{}][{}] is {}, which differs from its value {} visits before by {}, and that is not "
          "exactly an f32",
          at / terms / visits, visit, at % terms, tables.beta[at], shape.workers, increment);
  }
  if (!tables.decode_apart.empty() && !can_decode_apart(shape))
    return fmt::format(
        "decode_apart is there, but it is for c > N components and at most {} terms, and this code has c = "
        "{}, "
        "N = {} and {} terms",
        kMostApartTerms, shape.components, shape.workers, shape.terms);
  return std::nullopt;
}

std::optional<std::string> problem_of(const Shape& shape, const DifferentialTables& tables) {
  const auto at = [](const char* key, int phase, int row, int column, float value, const char* rule) {
    return fmt::format("{}[{}][{}][{}] is {} but {}", key, phase, row, column, value, rule);
  };
  const int first_row = shape.terms >= 3 ? 0 : 1;  // of those that a component uses
  for (int phase = 0; phase < shape.workers; ++phase) {
    for (int row = 0; row < 3; ++row)
      for (int tap = 0; tap < 3; ++tap) {
        const float value = tables.decode[static_cast<std::size_t>((phase * 3 + row) * 3 + tap)];
        const bool used = row >= first_row && tap < 3 - row;
        if (!used && value != 0)
          return at("decode", phase, row, tap, value, "no component uses it and it must be 0");
        if (used && tap == 0 && value == 0)
          return at("decode", phase, row, tap, value, "a component needs its own sample");
      }
    for (int row = 0; row < 2; ++row)
      for (int tap = 0; tap < 2; ++tap) {
        const float value = tables.own[static_cast<std::size_t>((phase * 2 + row) * 2 + tap)];
        if (value != 0 && !tables.own_exact)
          return at("own", phase, row, tap, value, "must be 0 where own_exact is false");
        if (value != 0 && (row < first_row || tap >= 2 - row))
          return at("own", phase, row, tap, value, "no component uses it and it must be 0");
      }
  }
  const double shift = (1.0 + 1.0 / shape.workers) / 2;
  if (tables.shift != shift)
    return fmt::format("shift is {} but {} workers make it {}", tables.shift, shape.workers, shift);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> table_problem(const Variant& variant) {
  if (const auto* plain = std::get_if<PlainTables>(&variant.tables)) return problem_of(variant.shape, *plain);
  if (const auto* differential = std::get_if<DifferentialTables>(&variant.tables))
    return problem_of(variant.shape, *differential);
  return std::nullopt;
}

}  // namespace cerar::runtime
