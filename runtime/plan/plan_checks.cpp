#include "runtime/plan/plan_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/schedule.h"
#include "runtime/plan/wire.h"

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
  if (!tables.decode_out_of_place.empty() && !can_decode_out_of_place(shape))
    return fmt::format(
        "decode_out_of_place is there, but it is for c > N components and at most {} terms, and this code "
        "has c = "
        "{}, "
        "N = {} and {} terms",
        kMostOutOfPlaceTerms, shape.components, shape.workers, shape.terms);
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

namespace {

[[noreturn]] void fail(const std::string& sentence) {
  throw Error(ErrorCode::invalid_plan, one_line(sentence));
}

template <typename Number>
void check_table(const Variant& variant, const char* key, const std::vector<Number>& table,
                 std::size_t size) {
  if (table.size() != size)
    fail(fmt::format("variant {}: {} has {} numbers but its shape needs {}.", variant.name, key, table.size(),
                     size));
  if (!std::all_of(table.begin(), table.end(), [](Number x) { return std::isfinite(x); }))
    fail(fmt::format("variant {}: {} holds a number that is not finite.", variant.name, key));
}

void check_tables(const Variant& variant) {
  const Shape& shape = variant.shape;
  const auto workers = static_cast<std::size_t>(shape.workers), terms = static_cast<std::size_t>(shape.terms);
  if (const auto* plain = std::get_if<PlainTables>(&variant.tables)) {
    check_table(variant, "beta", plain->beta,
                static_cast<std::size_t>(shape.chains) * static_cast<std::size_t>(shape.visits) * terms);
    check_table(variant, "decode", plain->decode, workers * terms * terms);
    const bool out_of_place =
        variant.claim_out_of_place || !plain->decode_out_of_place.empty() || !plain->own_out_of_place.empty();
    if (out_of_place && !variant.claim_out_of_place)
      fail(fmt::format(
          "variant {}: decode_out_of_place or own_out_of_place is there without errors_out_of_place.",
          variant.name));
    check_table(variant, "decode_out_of_place", plain->decode_out_of_place,
                out_of_place ? workers * terms * terms : 0);
    check_table(variant, "own_out_of_place", plain->own_out_of_place,
                out_of_place ? workers * terms * terms : 0);
  } else if (const auto* differential = std::get_if<DifferentialTables>(&variant.tables)) {
    check_table(variant, "open", differential->open, workers * 3);
    check_table(variant, "extend", differential->extend, workers * 3);
    check_table(variant, "own", differential->own, workers * 4);
    check_table(variant, "decode", differential->decode, workers * 9);
    if (!(differential->epsilon > 0))
      fail(fmt::format("variant {}: epsilon is {} but must be positive.", variant.name,
                       differential->epsilon));
  }
}

void check_variant(const Plan& plan, const Variant& variant) {
  if (variant.name.empty() || variant.name.find('/') != std::string::npos)
    fail(fmt::format("a variant's name is '{}'; it names files and must be a plain word.", variant.name));
  if (variant.shape != make_shape(plan.workers, variant.shape.components))
    fail(fmt::format("variant {}: its shape does not follow from {} workers and {} components.", variant.name,
                     plan.workers, variant.shape.components));
  if (!std::has_single_bit(static_cast<unsigned>(variant.interleave)) || variant.interleave < 4)
    fail(fmt::format("variant {}: interleave is {} but must be a power of two, at least 4.", variant.name,
                     variant.interleave));
  // Scales of blocks lie behind three bytes for each two numbers, and must be aligned.
  if (variant.wire == Wire::fx12 && variant.interleave < 8)
    fail(fmt::format("variant {}: interleave is {} but must be at least 8 for messages of {}.", variant.name,
                     variant.interleave, name_of(variant.wire)));
  if (variant.wire != Wire::f32 && variant.interleave > 512)
    fail(fmt::format("variant {}: interleave is {} but must be at most 512 for messages of {}.", variant.name,
                     variant.interleave, name_of(variant.wire)));
  if (is_block_wire(variant.wire) && variant.block != 32 && variant.block != 64 && variant.block != 128)
    fail(fmt::format("variant {}: block is {} but must be 32, 64 or 128.", variant.name, variant.block));
  if (variant.lanes < 1)
    fail(fmt::format("variant {}: lanes is {} but must be at least 1.", variant.name, variant.lanes));
  const bool fits = variant.messages == Messages::sum ? variant.shape.terms == 1
                    : variant.messages == Messages::differential
                        ? variant.shape.chains == 1 && variant.shape.terms >= 2
                        : variant.shape.terms >= 2;
  if (!fits || variant.tables.index() != static_cast<std::size_t>(variant.messages))
    fail(fmt::format("variant {}: messages is {}, which {} components on {} workers do not allow.",
                     variant.name, name_of(variant.messages), variant.shape.components, plan.workers));
  const bool named_right = variant.messages == Messages::sum ? variant.construction == Construction::ring
                           : variant.messages == Messages::differential
                               ? variant.construction == Construction::differential
                               : variant.construction != Construction::differential &&
                                     variant.construction != Construction::ring &&
                                     (variant.construction != Construction::unimodular ||
                                      variant.shape.components < variant.shape.workers);
  if (!named_right)
    fail(fmt::format(
        "variant {}: construction is {}, which has no {} messages with {} components on {} workers.",
        variant.name, name_of(variant.construction), name_of(variant.messages), variant.shape.components,
        plan.workers));
  if (variant.claim_out_of_place && variant.messages != Messages::plain)
    fail(fmt::format("variant {}: errors_out_of_place is there, which {} messages do not have.", variant.name,
                     name_of(variant.messages)));
  check_tables(variant);
  if (const auto problem = table_problem(variant))
    fail(fmt::format("variant {}: {}.", variant.name, *problem));
  if (variant.kernels.empty()) return;  // not generated yet
  auto roles = roles_of(variant.messages);
  roles.insert(roles.end(), std::begin(kConversions), std::end(kConversions));
  for (Role role : roles)
    if (std::none_of(variant.kernels.begin(), variant.kernels.end(),
                     [&](const Kernel& kernel) { return kernel.role == name_of(role); }))
      fail(fmt::format("variant {}: kernels lacks the role {}.", variant.name, name_of(role)));
}

}  // namespace

void check_plan(const Plan& plan) {
  if (plan.variants.empty()) fail("variants is empty; a plan has at least one.");
  for (const auto& range : plan.baseline_faster)
    if (range.max_bytes < range.min_bytes)
      fail(fmt::format("baseline_faster holds a range from {} to {}; max must not be below min.",
                       range.min_bytes, range.max_bytes));
  std::uint64_t next = 0;
  std::set<std::string> names;
  for (const auto& variant : plan.variants) {
    check_variant(plan, variant);
    // Kernels are found by it.
    if (!names.insert(variant.name).second)
      fail(fmt::format("two variants have the name {}; names must differ.", variant.name));
    if (next == 0 && names.size() > 1)
      fail(fmt::format("variants: {} follows one whose bytes.max is unbounded already; ranges must join.",
                       variant.name));
    if (variant.max_bytes < variant.min_bytes)
      fail(fmt::format("variant {}: bytes runs from {} to {}; max must not be below min.", variant.name,
                       variant.min_bytes, variant.max_bytes));
    if (variant.min_bytes != next)
      fail(fmt::format("variant {}: bytes.min is {} but must be {}; ranges must start at 0 and join.",
                       variant.name, variant.min_bytes, next));
    next = variant.max_bytes + 1;  // 0 after an unbounded range
  }
  if (next != 0)
    fail(fmt::format("variant {}: bytes.max is {} but the last range must be unbounded.",
                     plan.variants.back().name, plan.variants.back().max_bytes));
}

}  // namespace cerar::runtime
