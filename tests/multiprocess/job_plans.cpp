#include "tests/multiprocess/job_plans.h"

#include <fmt/format.h>

#include <map>

#include "runtime/base/error.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/measure/rank_threads.h"
#include "runtime/measure/time_limit.h"
#include "tests/support/command.h"

namespace cerar::test {

const std::filesystem::path& job_scratch() {
  static const TemporaryDirectory directory;
  return directory.path();
}

std::string job_plan(const std::string& construction, int workers, int components, const std::string& wire) {
  static std::map<std::string, std::string> made;
  const std::string name = fmt::format("{}-n{}-c{}-{}", construction, workers, components, wire);
  auto& directory = made[name];
  if (!directory.empty()) return directory;
  const std::string path = (job_scratch() / name).string();
  const auto result = run_command({CERAR_TUNE, "--topology", "local", "--workers", std::to_string(workers),
                                   "--construction", construction, "--components", std::to_string(components),
                                   "--max-error", "1", "--wire", wire, "--out", path});
  if (result.exit_code != 0) throw Error(ErrorCode::system, "cerar-tune failed: " + result.err);
  return directory = path;
}

Comm join(int rank, int ranks, const std::string& plan, const std::string& store, TimeLimit limit) {
  cerarPlan_t loaded = nullptr;
  if (!plan.empty()) runtime::require_success(cerarPlanLoad(&loaded, plan.c_str()));
  cerarComm_t comm = nullptr;
  const cerarResult_t result = cerarCommInitGloo(&comm, rank, ranks, loaded, store.c_str(), nullptr, limit);
  cerarPlanFree(loaded);
  runtime::require_success(result);
  return Comm(comm);
}

}  // namespace cerar::test
