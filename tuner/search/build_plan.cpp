#include "tuner/search/build_plan.h"

#include <fmt/format.h>

#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wire.h"

namespace cerar::tuner {
namespace {

std::string variant_name(const Candidate& candidate) {
  const auto code =
      fmt::format("{}-c{}", runtime::name_of(candidate.construction), candidate.shape.components);
  return candidate.wire == runtime::Wire::f32 ? code
                                              : fmt::format("{}-{}", code, runtime::name_of(candidate.wire));
}

}  // namespace

runtime::Plan build_plan(const std::vector<Candidate>& candidates, const Selection& selection,
                         const Topology& topology, const SearchOptions& options) {
  runtime::Plan plan;
  plan.generator = "cerar " CERAR_VERSION;
  plan.topology = topology.name;
  plan.fingerprint = topology.fingerprint;
  plan.reason = selection.reason;
  plan.workers = options.workers;
  plan.data_type = options.type;
  plan.max_error = options.max_error;
  plan.baseline = baseline_name(topology);
  plan.baseline_faster = selection.baseline_faster;
  const CostLine baseline = baseline_cost(topology, options.workers);
  for (const auto& choice : selection.choices) {
    const Candidate& candidate = candidates[choice.candidate];
    runtime::Variant variant;
    variant.name = variant_name(candidate);
    variant.min_bytes = choice.min_bytes;
    variant.max_bytes = choice.max_bytes;
    variant.construction = candidate.construction;
    variant.messages = candidate.messages;
    variant.shape = candidate.shape;
    variant.wire = candidate.wire;
    variant.block = kBlock;
    variant.lanes = topology.lanes;
    variant.message_bytes = topology.message_bytes;
    variant.claim = candidate.claim;
    variant.claim_out_of_place = candidate.claim_out_of_place;
    variant.tables = candidate.tables;
    variant.growth = runtime::growth_of(variant.shape, variant.tables);
    variant.prediction = {.fixed_us = candidate.cost.fixed_us,
                          .us_per_mib = candidate.cost.us_per_mib,
                          .baseline_fixed_us = baseline.fixed_us,
                          .baseline_us_per_mib = baseline.us_per_mib};
    plan.variants.push_back(std::move(variant));
  }
  runtime::check_plan(plan);
  return plan;
}

}  // namespace cerar::tuner
