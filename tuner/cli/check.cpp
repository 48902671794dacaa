#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>

#include "runtime/base/error.h"
#include "runtime/program/output.h"
#include "tuner/check/check_plan.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/progress.h"

namespace cerar::tuner {
namespace {

// Sentences of the loader name the plan's file already.
void print_problem(const std::string& plan, const std::string& sentence) {
  const bool names_plan = sentence.starts_with((std::filesystem::path(plan) / "").string());
  program::complain(
      fmt::format("cerar-tune: {}\n", one_line(names_plan ? sentence : plan + ": " + sentence)));
}

bool holds(const std::string& plan) {
  Progress progress;
  Findings findings;
  try {
    findings = check_plan(plan, [&](const std::string& step) { progress(step); });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    progress.clear();
    print_problem(plan, error.what());
    return false;
  }
  progress.clear();
  for (const auto& fact : findings.facts) program::print("{}\n", one_line(fact));
  const std::size_t count = findings.differences.size();
  program::print(
      "{}: {}\n", one_line(plan),
      count == 0 ? "holds what it claims" : fmt::format("{} difference{}", count, count == 1 ? "" : "s"));
  for (const auto& difference : findings.differences) print_problem(plan, difference);
  return count == 0;
}

}  // namespace

int run_check(const std::vector<std::string>& plan_directories) {
  bool all_hold = true;
  for (const auto& plan : plan_directories) all_hold = holds(plan) && all_hold;
  return all_hold ? 0 : 1;
}

}  // namespace cerar::tuner
