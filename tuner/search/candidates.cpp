#include "tuner/search/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/kernel_spec.h"
#include "runtime/plan/names.h"
#include "tuner/code/constructions/exact.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/optimise/optimise_code.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;
using runtime::Messages;

// Beyond c = 8N the noise of a plain code in f32 exceeds 10 %; a differential code gains under 1 % of the
// ring's time beyond r = 64.
constexpr int kPlainTerms[] = {2, 3, 4, 6, 8};
constexpr int kDifferentialTerms[] = {2, 4, 8, 16, 32, 64};
// For more workers, exact codes lie close enough to each other.
constexpr int kMostWorkersForUnimodular = 16;

// Where the error of any plain code in f32 has reached 20 %.
constexpr int kMostDegrees = 16;
// Least squares gives up components that noise has buried, so that no error exceeds 1, that of zeros. At this
// one a quarter of the sum's power is lost.
constexpr double kUselessError = 0.5;

struct Design {
  runtime::Tables tables;
  runtime::ErrorClaim claim;
  std::optional<runtime::ErrorClaim> claim_out_of_place;
  std::string stop_reason;
};

using Step = std::function<void()>;

Design design_plain(Construction construction, const runtime::Shape& shape, double max_condition, double nu,
                    const Step& step) {
  const auto design = construction == Construction::optimized     ? optimise_code
                      : construction == Construction::vandermonde ? best_vandermonde
                                                                  : best_harmonic;
  double limit = max_condition;
  while (true) {
    const OptimisedCode best =
        design(shape.workers, shape.components, {.nu = nu, .condition_limit = limit, .step = step});
    PlainDesign tables = plain_design(best.code, nu);
    if (tables.claim.condition <= max_condition)
      return {std::move(tables.tables), tables.claim, tables.claim_out_of_place,
              construction == Construction::optimized ? name_of(best.stop) : ""};
    // The rounding of tables moved it past the limit, by about as much as it will the next time.
    limit *= max_condition / tables.claim.condition * (1 - 1e-7);
  }
}

Design design_code(Construction construction, const runtime::Shape& shape, double max_condition,
                   runtime::Wire wire, const Step& step) {
  const double nu = nu_of(wire, kBlock);
  if (construction == Construction::unimodular) {
    PlainDesign design = unimodular_design(shape.workers, shape.components, wire, kBlock);
    return {std::move(design.tables), design.claim, std::nullopt, ""};
  }
  if (construction != Construction::differential)
    return design_plain(construction, shape, max_condition, nu, step);
  BestDifferential best = best_differential(shape.workers, shape.terms, nu, true, step);
  return {std::move(best.design.tables), best.design.claim, std::nullopt, ""};
}

CostLine cost_of_candidate(const Topology& topology, const SearchOptions& options,
                           const Candidate& candidate) {
  return cost_of(topology, candidate.shape, candidate.messages,
                 {.vector = static_cast<double>(runtime::size_of(options.type)),
                  .message = runtime::bytes_per_element(candidate.wire, kBlock)});
}

void add_rings(const Topology& topology, const SearchOptions& options, runtime::Wire wire,
               std::vector<Candidate>& out) {
  const double nu = nu_of(wire, kBlock);
  for (int c = 1; c <= options.workers; ++c) {
    if (options.workers % c != 0 || (options.components && *options.components != c)) continue;
    Candidate candidate;
    candidate.shape = runtime::make_shape(options.workers, c);
    candidate.wire = wire;
    if (!candidate.is_exact()) candidate.claim = sum_claim(candidate.shape, nu);
    candidate.rounding = runtime::result_rounding(candidate.messages, candidate.shape, wire, options.type);
    candidate.allowed = candidate.is_exact() || candidate.counted_error() <= options.max_error;
    candidate.cost = cost_of_candidate(topology, options, candidate);
    out.push_back(std::move(candidate));
  }
}

void check_plain_size(Construction construction, const runtime::Shape& shape) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("components is {} on {} workers, but {}.", shape.components, shape.workers, why));
  };
  if (shape.terms > runtime::kMostPlainTerms)
    refuse(
        fmt::format("{} kernels hold {} terms in a class, not r = c / gcd(c, N) = {}; take a multiple of {}, "
                    "which lowers r, or differential messages, which have no such limit",
                    runtime::name_of(construction), runtime::kMostPlainTerms, shape.terms, shape.workers));
  if (shape.components > kMostDegrees * shape.workers)
    refuse(
        fmt::format("{} codes end at c = {}: beyond it they multiply rounding noise past any use; take "
                    "differential with a multiple of {}",
                    runtime::name_of(construction), kMostDegrees * shape.workers, shape.workers));
}

// The codes of one construction to design: the one asked for, or the list that a plan is searched in.
std::vector<int> components_of(Construction construction, const SearchOptions& options) {
  const int n = options.workers;
  const bool differential = construction == Construction::differential;
  std::vector<int> list;
  if (construction == Construction::unimodular) {
    for (int c = 2; c < n; ++c)
      if (n % c != 0 && (options.components ? *options.components == c : n <= kMostWorkersForUnimodular))
        list.push_back(c);
    return list;
  }
  if (options.components) {
    const int c = *options.components;
    const bool whole = c % n == 0;
    if (differential) {
      if (whole && c > n) list.push_back(c);
      return list;
    }
    // Where the user leaves the construction open, c < N is unimodular's, and beyond the end of the list
    // multiples of N are left to differential.
    const int end = n * *(std::end(kPlainTerms) - 1);
    const bool useful = options.construction || (c > n && (!whole || c <= end));
    if (n % c != 0 && useful) list.push_back(c);
    return list;
  }
  if (differential) {
    for (int terms : kDifferentialTerms) list.push_back(terms * n);
    return list;
  }
  if (n % 2 == 0) list.insert(list.end(), {3 * n / 2, 5 * n / 2});
  for (int terms : kPlainTerms) list.push_back(terms * n);
  std::sort(list.begin(), list.end());
  return list;
}

// A code that no drift brings within the condition limit is left out; `refusal` says why.
void add_approximate(const Topology& topology, const SearchOptions& options, Construction construction,
                     int components, runtime::Wire wire, std::vector<Candidate>& out,
                     std::optional<Error>& refusal) {
  Candidate candidate;
  candidate.wire = wire;
  candidate.construction = construction;
  candidate.messages = construction == Construction::differential ? Messages::differential : Messages::plain;
  candidate.shape = runtime::make_shape(options.workers, components);
  const std::string what =
      fmt::format("designing {} c = {} for messages of {}", runtime::name_of(construction),
                  candidate.shape.components, runtime::name_of(wire));
  options.progress(what);
  int tried = 0;
  const Step step = [&] { options.progress(fmt::format("{}: code {}", what, ++tried)); };
  Design design;
  try {
    if (candidate.messages == Messages::plain) check_plain_size(construction, candidate.shape);
    design = design_code(construction, candidate.shape, options.max_condition, wire, step);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    refusal = error;
    return;
  }
  if (design.claim.total >= kUselessError) {
    refusal = Error(ErrorCode::invalid_argument,
                    fmt::format("{} with {} components on {} workers has a relative error of {:.3g} in {}, "
                                "which is of no use; take fewer components, or differential.",
                                runtime::name_of(construction), components, options.workers,
                                design.claim.total, runtime::name_of(wire)));
    return;
  }
  candidate.tables = std::move(design.tables);
  candidate.claim = design.claim;
  candidate.claim_out_of_place = design.claim_out_of_place;
  candidate.rounding = runtime::result_rounding(candidate.messages, candidate.shape, wire, options.type);
  candidate.stop_reason = std::move(design.stop_reason);
  candidate.cost = cost_of_candidate(topology, options, candidate);
  candidate.allowed =
      candidate.counted_error() <= options.max_error && candidate.claim.condition <= options.max_condition;
  out.push_back(std::move(candidate));
}

// What was asked for by name and is not there is an error; exact codes do not stand in for it.
void check_named(const std::vector<Candidate>& candidates, const SearchOptions& options,
                 const std::optional<Error>& refusal) {
  const bool named = options.construction && *options.construction != Construction::ring;
  const bool approximate = std::any_of(candidates.begin(), candidates.end(),
                                       [](const auto& c) { return c.construction != Construction::ring; });
  if (refusal && !approximate && (named || options.components)) throw *refusal;
  if (named && !approximate && options.components && options.workers > 2)
    throw Error(
        ErrorCode::invalid_argument,
        *options.construction == Construction::differential
            ? fmt::format("construction differential has no code of {} components on {} workers; choose a "
                          "multiple of {} from {} on.",
                          *options.components, options.workers, options.workers, 2 * options.workers)
            : fmt::format("construction {} has nothing to add for {} components on {} workers, whose sum is "
                          "exact; choose ring, or another c.",
                          runtime::name_of(*options.construction), *options.components, options.workers));
}

}  // namespace

runtime::Wire native_wire(runtime::DataType type) {
  switch (type) {
    case runtime::DataType::bf16:
      return runtime::Wire::bf16;
    case runtime::DataType::f16:
      return runtime::Wire::f16;
    case runtime::DataType::f32:
      break;
  }
  return runtime::Wire::f32;
}

std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options) {
  std::vector<Candidate> candidates;
  std::optional<Error> refusal;
  for (const runtime::Wire wire : options.wires) {
    add_rings(topology, options, wire, candidates);
    // With two workers a ring already sends no more than 1 d, and no code sends less.
    if (options.workers <= 2) continue;
    for (Construction construction :
         {Construction::unimodular, Construction::harmonic, Construction::vandermonde,
          Construction::optimized, Construction::differential}) {
      const bool asked = options.construction == construction;
      if (options.construction ? !asked : construction == Construction::vandermonde) continue;
      for (int components : components_of(construction, options))
        add_approximate(topology, options, construction, components, wire, candidates, refusal);
    }
  }
  const auto order = [](const Candidate& c) { return std::pair(c.construction, c.shape.components); };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  if (candidates.empty() && !refusal)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("components is {}, for which there is no code on {} workers; choose a divisor of {}{}.",
                    *options.components, options.workers, options.workers,
                    options.construction ? ", or another construction" : ""));
  check_named(candidates, options, refusal);
  return candidates;
}

}  // namespace cerar::tuner
