#include <fmt/format.h>

#include <cstdio>

#include "tuner/check/check_plan.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/progress.h"

namespace cerar::tuner {

int run_check(const std::string& plan_directory) {
  Progress progress;
  const CheckResult result = check_plan(plan_directory, [&](const std::string& step) { progress(step); });
  progress.clear();
  for (const auto& fact : result.facts) fmt::print("{}\n", fact);
  for (const auto& difference : result.differences) fmt::print(stderr, "cerar-tune: {}.\n", difference);
  fmt::print("{}: {}\n", plan_directory,
             result.differences.empty() ? "holds what it claims"
                                        : fmt::format("{} differences", result.differences.size()));
  return result.differences.empty() ? 0 : 1;
}

}  // namespace cerar::tuner
