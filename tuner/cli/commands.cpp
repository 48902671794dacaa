#include "tuner/cli/commands.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/program/output.h"
#include "tuner/check/check_plan.h"
#include "tuner/cli/report.h"

namespace cerar::tuner {
namespace {

// A line that wraps could not be rewritten.
std::size_t width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::operator()(const std::string& step) {
  if (!terminal_) return;
  // Codes of few workers are tried thousands of times a second.
  const auto now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  program::complain(fmt::format("\r\x1b[K{:.{}}", step, width()));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) program::complain("\r\x1b[K");
  shown_ = false;
}

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
