#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "generator/publish.h"
#include "runtime/base/error.h"
#include "runtime/base/processor.h"
#include "runtime/plan/names.h"
#include "runtime/program/output.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/report.h"
#include "tuner/code/constructions/exact.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/search/choose.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;

const std::filesystem::path kPlans = "plans";

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalid_argument, sentence); }

std::vector<runtime::Wire> all_wires() {
  std::vector<runtime::Wire> wires;
  for (const auto& format : runtime::wire_formats()) wires.push_back(format.wire);
  return wires;
}

void set_types(const TuneArguments& arguments, SearchOptions& options) {
  if (!runtime::from_name(arguments.data_type, options.type))
    throw Error(ErrorCode::unsupported, fmt::format("--dtype is '{}'; supported are {}.", arguments.data_type,
                                                    runtime::known_names<runtime::DataType>()));
  runtime::Wire wire{};
  if (arguments.wire == "native")
    options.wires = {native_wire(options.type)};
  else if (arguments.wire == "auto")
    options.wires = all_wires();
  else if (runtime::from_name(arguments.wire, wire))
    options.wires = {wire};
  else
    throw Error(ErrorCode::unsupported, fmt::format("--wire is '{}'; supported are native, auto, {}.",
                                                    arguments.wire, runtime::known_names<runtime::Wire>()));
}

// Messages in 16 bits cannot be better than the all-reduce that they stand beside.
double default_max_error(const TuneArguments& arguments, const SearchOptions& options) {
  constexpr double kDefault = 1e-3;
  const runtime::Wire native = native_wire(options.type);
  if (arguments.wire != "native" || native == runtime::Wire::f32 || options.workers < 2) return kDefault;
  const auto ring = runtime::make_shape(options.workers, options.workers);
  return std::max(kDefault, sum_claim(ring, nu_of(native, kBlock)).total);
}

}  // namespace

SearchOptions search_options(const TuneArguments& arguments, const Topology& topology) {
  SearchOptions options;
  options.workers = arguments.workers.value_or(topology.workers);
  if (options.workers < 1 || options.workers > 256)
    refuse(fmt::format("--workers is {} but must lie in 1..256.", options.workers));
  set_types(arguments, options);
  options.max_error = arguments.max_error.value_or(default_max_error(arguments, options));
  if (!(options.max_error >= 0) || std::isinf(options.max_error))
    refuse(fmt::format("--max-error is {} but must be a relative error of 0 (exact codes only) or more.",
                       options.max_error));
  if (arguments.max_condition) {
    if (!(*arguments.max_condition >= 1))
      refuse(fmt::format("--max-condition is {} but no code has a condition number below 1.",
                         *arguments.max_condition));
    options.max_condition = *arguments.max_condition;
  }
  options.components = arguments.components;
  if (options.components && (*options.components < 1 || *options.components > 1 << 16))
    refuse(
        fmt::format("--components is {} but must lie in 1..65536: a message is at least a line of 32 "
                    "elements, and with more components a vector of 8 MiB would leave some of them empty.",
                    *options.components));
  if (!arguments.construction.empty()) {
    Construction construction{};
    if (!runtime::from_name(arguments.construction, construction))
      refuse(fmt::format("--construction is '{}'; known are {}.", arguments.construction,
                         runtime::known_names<Construction>()));
    options.construction = construction;
  }
  return options;
}

namespace {

void check_host_target(const TuneArguments& arguments) {
  const auto known = processor_targets();
  if (!arguments.host_target.empty() &&
      std::find(known.begin(), known.end(), arguments.host_target) == known.end())
    throw Error(ErrorCode::unsupported, fmt::format("--host-target is '{}'; this machine compiles for {}.",
                                                    arguments.host_target, fmt::join(known, ", ")));
}

// What --wire auto would choose instead, for large vectors: the codes that win there are differential.
std::optional<Candidate> with_any_wire(const TuneArguments& arguments, const Topology& topology,
                                       SearchOptions options) {
  if (arguments.wire != "native" || options.workers < 2) return std::nullopt;
  options.wires = all_wires();
  if (!options.components && !options.construction) options.construction = Construction::differential;
  try {
    const auto candidates = design_candidates(topology, options);
    return candidates[choose(candidates, topology, options).choices.back().candidate];
  } catch (const Error&) {
    return std::nullopt;  // nothing of the kind asked for
  }
}

// The topology's and the user's, and PTX for GPUs that come later; empty in a build without NVRTC unless the
// user insists.
std::vector<std::string> architectures(const TuneArguments& arguments, const Topology& topology) {
  std::vector<std::string> list = arguments.architectures;
  if (generator::nvrtc_available())
    list.insert(list.end(), topology.architectures.begin(), topology.architectures.end());
  std::set<std::string> unique(list.begin(), list.end());
  for (const auto& architecture : unique)
    if (!generator::can_compile_for(architecture))
      throw Error(
          ErrorCode::unsupported,
          generator::nvrtc_available()
              ? fmt::format("--arch {} is not supported; this NVRTC compiles for {}.", architecture,
                            fmt::join(generator::supported_architectures(), ", "))
              : fmt::format(
                    "--arch {} needs NVRTC, and this build has none; install a CUDA toolkit and build again.",
                    architecture));
  if (!unique.empty() && generator::can_compile_for(generator::kFallbackTarget))
    unique.insert(generator::kFallbackTarget);
  return {unique.begin(), unique.end()};
}

}  // namespace

int run_tune(const TuneArguments& arguments) {
  const Topology topology = load_topology(arguments.topology);
  SearchOptions options = search_options(arguments, topology);
  generator::GenerateOptions generate;
  generate.architectures = architectures(arguments, topology);
  generate.replace = !arguments.keep;
  check_host_target(arguments);
  generate.host_target = arguments.host_target;
  if (arguments.out.empty()) {
    generate.out = kPlans / fmt::format("{}-n{}", topology.name, options.workers);
  } else {
    generate.out = arguments.out;
  }
  // Made only when there is a plan to put there.
  std::error_code ignored;  // publishing names the path if it cannot be reached or made
  const bool lacks_parent = arguments.out.empty() && !std::filesystem::exists(kPlans, ignored) && !ignored;
  if (!lacks_parent) generator::StagedDirectory::check(generate.out, generate.replace);

  Progress progress;
  options.progress = [&](const std::string& step) { progress(step); };
  generate.progress = options.progress;
  const auto candidates = design_candidates(topology, options);
  const Selection selection = choose(candidates, topology, options);
  const auto other = with_any_wire(arguments, topology, options);
  runtime::Plan plan = build_plan(candidates, selection, topology, options);
  if (lacks_parent) std::filesystem::create_directory(kPlans, ignored);
  generator::generate(plan, generate);
  progress.clear();

  if (arguments.json) {
    program::print("{}\n", tune_json(candidates, plan, topology, generate.out, other).dump(2));
  } else {
    program::print("{}", tune_report(candidates, selection, plan, topology, options, other));
    if (!generator::nvrtc_available() && !topology.architectures.empty())
      program::print("cubins: none, this build found no CUDA toolkit; the plan runs on hosts only\n");
    program::print("plan: {}\n", generate.out.string());
  }
  return 0;
}

}  // namespace cerar::tuner
