#include "tests/support/plans.h"

#include <fmt/format.h>

#include <map>

#include "generator/generate.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/names.h"
#include "tuner/search/choose.h"

namespace cerar::test {

const std::filesystem::path& scratch() {
  static const TemporaryDirectory directory;
  return directory.path();
}

runtime::Plan design_plan(runtime::Construction construction, int workers, int components, int lanes,
                          runtime::Wire wire, int block) {
  tuner::Topology topology = tuner::load_topology("local");
  topology.lanes = lanes;
  tuner::SearchOptions options;
  options.workers = workers;
  options.max_error = 1;
  options.construction = construction;
  options.components = components;
  options.wires = {wire};
  const auto candidates = tuner::design_candidates(topology, options);
  auto plan = tuner::build_plan(candidates, tuner::choose(candidates, topology, options), topology, options);
  for (auto& variant : plan.variants) variant.block = block;
  return plan;
}

std::string plan_directory(runtime::Construction construction, int workers, int components, int lanes,
                           runtime::Wire wire, int block) {
  static std::map<std::string, std::string> made;
  const std::string name = fmt::format("{}-n{}-c{}-l{}-{}-b{}", runtime::name_of(construction), workers,
                                       components, lanes, runtime::name_of(wire), block);
  auto& directory = made[name];
  if (directory.empty()) {
    runtime::Plan plan = design_plan(construction, workers, components, lanes, wire, block);
    generator::generate(plan, {.architectures = {}, .out = scratch() / name});
    directory = (scratch() / name).string();
  }
  return directory;
}

const runtime::ErrorClaim& claim_of(const runtime::Variant& variant, bool in_place) {
  return !in_place && variant.claim_out_of_place ? *variant.claim_out_of_place : variant.claim;
}

}  // namespace cerar::test
