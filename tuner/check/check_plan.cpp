#include "tuner/check/check_plan.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/processor.h"
#include "runtime/base/temporary_directory.h"
#include "tuner/check/claims.h"
#include "tuner/check/files.h"
#include "tuner/check/kernels.h"
#include "tuner/check/rebuilt_plan.h"
#include "tuner/check/runs.h"

namespace cerar::tuner {

Findings check_plan(const std::filesystem::path& directory,
                    const std::function<void(const std::string&)>& progress) {
  Findings findings;
  const auto inspected = inspect_plan(directory, findings);
  if (!inspected) return findings;
  const runtime::Plan& plan = inspected->plan;
  // What one step cannot do is a difference of its own: the others still have something to say.
  const auto attempt = [&findings](const char* what, const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      findings.differences.push_back(fmt::format("{}: {}", what, error.what()));
      return false;
    }
    return true;
  };
  check_files(*inspected, findings);
  attempt("claims cannot be recomputed", [&] { check_claims(plan, findings); });
  attempt("predictions cannot be recomputed", [&] { check_predictions(plan, findings); });
  progress("compiling the kernels again");
  const TemporaryDirectory scratch;
  RebuiltPlan rebuilt;
  if (!attempt("kernels cannot be built again",
               [&] { rebuilt = rebuild_plan(plan, scratch.path() / "plan"); }))
    return findings;
  check_kernels(*inspected, rebuilt, findings);
  if (rebuilt.plan.host_target != plan.host_target)
    findings.note("host kernels {}; they are run as {} has them",
                  processor_problem(plan.host_target).value_or("are not in the plan"),
                  rebuilt.plan.host_target);
  attempt("kernels cannot be run", [&] { check_runs(rebuilt, progress, findings); });
  return findings;
}

}  // namespace cerar::tuner
