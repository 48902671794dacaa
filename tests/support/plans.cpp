#include "tests/support/plans.h"

#include <fmt/format.h>

#include <map>

#include "generator/generate.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/names.h"
#include "tuner/search/build_plan.h"

namespace cerar::test {

const std::filesystem::path& scratch() {
  static const TemporaryDirectory directory;
  return directory.path();
}

runtime::Plan design_plan(runtime::Construction construction, int workers, int components, int lanes) {
  tuner::Topology topology = tuner::load_topology("local");
  topology.lanes = lanes;
  tuner::SearchOptions options;
  options.workers = workers;
  options.max_error = 1;
  options.construction = construction;
  options.components = components;
  const auto candidates = tuner::design_candidates(topology, options);
  return tuner::build_plan(candidates, tuner::choose(candidates, topology, options), topology, options);
}

std::string plan_directory(runtime::Construction construction, int workers, int components, int lanes) {
  static std::map<std::string, std::string> made;
  const std::string name =
      fmt::format("{}-n{}-c{}-l{}", runtime::name_of(construction), workers, components, lanes);
  auto& directory = made[name];
  if (directory.empty()) {
    runtime::Plan plan = design_plan(construction, workers, components, lanes);
    generator::generate(plan, {.architectures = {}, .out = scratch() / name});
    directory = (scratch() / name).string();
  }
  return directory;
}

}  // namespace cerar::test
