#include "tuner/check/check_plan.h"

#include <fmt/format.h>

#include <optional>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/plan_file.h"
#include "tuner/check/claims.h"
#include "tuner/check/files.h"
#include "tuner/check/kernels.h"
#include "tuner/check/rebuilt_plan.h"
#include "tuner/check/runs.h"

namespace cerar::tuner {
namespace {

// Without insisting on the digest: what was altered has a name, which the digest does not know.
std::optional<runtime::Plan> read_plan(const std::filesystem::path& directory, Findings& findings) {
  const auto file = directory / runtime::kPlanFileName;
  if (!std::filesystem::exists(file))
    throw Error(ErrorCode::invalid_plan,
                fmt::format("{} does not exist; give a plan directory made by cerar-tune.", file.string()));
  const std::string text = read_file(file);
  const auto problem = runtime::digest_problem(text, file.string());
  if (problem) findings.differences.push_back(*problem);
  try {
    return runtime::parse_plan(text, file.string(), runtime::Digest::ignored);
  } catch (const Error& error) {
    findings.differences.push_back(error.what());
    return std::nullopt;
  }
}

}  // namespace

Findings check_plan(const std::filesystem::path& directory,
                    const std::function<void(const std::string&)>& progress) {
  Findings findings;
  const auto plan = read_plan(directory, findings);
  if (!plan) return findings;
  check_files(*plan, directory, findings);
  check_claims(*plan, findings);
  check_predictions(*plan, findings);
  progress("compiling the kernels again");
  const TemporaryDirectory scratch;
  RebuiltPlan rebuilt;
  try {
    rebuilt = rebuild_plan(*plan, scratch.path() / "plan");
  } catch (const Error& error) {
    findings.differences.push_back(fmt::format("the kernels cannot be built again: {}", error.what()));
    return findings;
  }
  check_kernels(*plan, directory, rebuilt, findings);
  check_runs(rebuilt, progress, findings);
  return findings;
}

}  // namespace cerar::tuner
