#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/plan/plan_file.h"
#include "runtime/program/output.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/report.h"

namespace cerar::tuner {

int run_show(const std::string& plan_directory, bool json) {
  const runtime::Plan plan = runtime::load_plan(plan_directory, runtime::Artefacts::none);
  if (json) {
    program::print("{}\n", plan_json(plan).dump(2));
    return 0;
  }
  program::print("{}: N = {}, error up to {:.3g}, made by {}\nhost kernels for {}, digest {}\n\n{}",
                 plan.topology, plan.workers, plan.max_error, plan.generator, plan.host_target,
                 plan.digest.substr(0, 12), plan_report(plan));
  return 0;
}

}  // namespace cerar::tuner
