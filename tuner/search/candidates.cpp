#include "tuner/search/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/code/wire_noise.h"
#include "tuner/optimise/optimise_code.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;
using runtime::Messages;

// Beyond r = 8 the noise of a plain code in f32 exceeds 10 %; a differential code gains under 1 % of the
// ring's time beyond r = 64.
constexpr int kPlainTerms[] = {2, 3, 4, 6, 8};
constexpr int kMostPlainTerms = *(std::end(kPlainTerms) - 1);
constexpr int kDifferentialTerms[] = {2, 4, 8, 16, 32, 64};

struct Design {
  runtime::Tables tables;
  runtime::ErrorClaim claim;
  std::string stop_reason;
};

Design design_plain(Construction construction, int workers, int terms, double max_condition) {
  const CodeGoal goal{.nu = kNuF32, .condition_limit = max_condition};
  const OptimisedCode best = construction == Construction::optimized ? optimise_code(workers, terms, goal)
                                                                     : best_harmonic(workers, terms, goal);
  PlainDesign design = plain_design(best.code, kNuF32);
  return {std::move(design.tables), design.claim,
          construction == Construction::optimized ? name_of(best.stop) : ""};
}

Design design_code(Construction construction, int workers, int terms, double max_condition) {
  if (construction != Construction::differential)
    return design_plain(construction, workers, terms, max_condition);
  BestDifferential best = best_differential(workers, terms, kNuF32, true);
  return {std::move(best.design.tables), best.design.claim, ""};
}

void add_exact(const Topology& topology, const SearchOptions& options, std::vector<Candidate>& out) {
  for (int c = 1; c <= options.workers; ++c) {
    if (options.workers % c != 0 || (options.components && *options.components != c)) continue;
    Candidate candidate;
    candidate.shape = runtime::make_shape(options.workers, c);
    candidate.cost = cost_of(topology, candidate.shape, Messages::sum);
    candidate.allowed = true;
    out.push_back(std::move(candidate));
  }
}

// A code that no drift brings within the condition limit is left out; `refusal` says why.
void add_approximate(const Topology& topology, const SearchOptions& options, Construction construction,
                     int terms, std::vector<Candidate>& out, std::optional<Error>& refusal) {
  Candidate candidate;
  candidate.construction = construction;
  candidate.messages = construction == Construction::differential ? Messages::differential : Messages::plain;
  candidate.shape = runtime::make_shape(options.workers, terms * options.workers);
  options.progress(
      fmt::format("designing {} c = {}", runtime::name_of(construction), candidate.shape.components));
  Design design;
  try {
    design = design_code(construction, options.workers, terms, options.max_condition);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    refusal = error;
    return;
  }
  candidate.tables = std::move(design.tables);
  candidate.claim = design.claim;
  candidate.stop_reason = std::move(design.stop_reason);
  candidate.cost = cost_of(topology, candidate.shape, candidate.messages);
  candidate.allowed = candidate.claim.total <= options.max_error &&
                      candidate.claim.condition <= options.max_condition * (1 + 1e-6);
  out.push_back(std::move(candidate));
}

// What was asked for by name and is not there is an error; exact codes do not stand in for it.
void check_named(const std::vector<Candidate>& candidates, const SearchOptions& options,
                 const std::optional<Error>& refusal) {
  const bool named = options.construction && *options.construction != Construction::ring;
  const bool approximate =
      std::any_of(candidates.begin(), candidates.end(), [](const auto& c) { return !c.is_exact(); });
  if (refusal && !approximate && (named || options.components)) throw *refusal;
  if (named && !approximate && options.components && options.workers > 2)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("construction {} has no code of {} components on {} workers; choose a multiple of {} "
                    "from {} on.",
                    runtime::name_of(*options.construction), *options.components, options.workers,
                    options.workers, 2 * options.workers));
}

}  // namespace

std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options) {
  std::vector<Candidate> candidates;
  std::optional<Error> refusal;
  add_exact(topology, options, candidates);
  // With two workers a ring already sends no more than 1 d, and no code sends less.
  if (options.workers > 2)
    for (Construction construction :
         {Construction::harmonic, Construction::optimized, Construction::differential}) {
      if (options.construction && *options.construction != construction) continue;
      std::vector<int> list(std::begin(kPlainTerms), std::end(kPlainTerms));
      if (construction == Construction::differential)
        list.assign(std::begin(kDifferentialTerms), std::end(kDifferentialTerms));
      if (options.components) {
        const int c = *options.components;
        list.clear();
        const int terms = c % options.workers == 0 ? c / options.workers : 1;
        const bool designable = construction == Construction::differential || terms <= kMostPlainTerms;
        if (terms > 1 && designable) list.push_back(terms);
        if (!designable && options.construction)
          throw Error(ErrorCode::invalid_argument,
                      fmt::format("components is {}, but {} codes end at c = {} for {} workers: beyond it "
                                  "they multiply rounding noise past any use; take differential.",
                                  c, runtime::name_of(construction), kMostPlainTerms * options.workers,
                                  options.workers));
      }
      for (int terms : list) add_approximate(topology, options, construction, terms, candidates, refusal);
    }
  if (candidates.empty() && !refusal)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "components is {}, which this version cannot run on {} workers; choose a divisor{} of {}.",
            *options.components, options.workers, options.workers > 2 ? " or a multiple" : "",
            options.workers));
  check_named(candidates, options, refusal);
  return candidates;
}

}  // namespace cerar::tuner
