#include "tuner/search/pareto.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "runtime/program/output.h"
#include "runtime/program/text.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/report.h"
#include "tuner/plot/front_plot.h"
#include "tuner/plot/image.h"

namespace cerar::tuner {
namespace {

void refuse_plan_options(const TuneArguments& arguments) {
  const char* option = !arguments.out.empty()             ? "--out"
                       : !arguments.architectures.empty() ? "--arch"
                       : !arguments.host_target.empty()   ? "--host-target"
                       : arguments.keep                   ? "--keep"
                                                          : nullptr;
  if (option)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is about a plan directory, and --pareto writes none; leave one of them out.",
                            option));
}

std::string limit_text(const FrontPoint& point) {
  if (!heeds_condition_limit(point.candidate.construction)) return "any";
  return std::isinf(point.condition_limit) ? "none" : program::number_text(point.condition_limit);
}

nlohmann::json limit_json(const FrontPoint& point) {
  if (!heeds_condition_limit(point.candidate.construction) || std::isinf(point.condition_limit))
    return limit_text(point);
  return point.condition_limit;
}

std::string front_table(const Front& front) {
  std::vector<std::vector<std::string>> rows = {{"construction", "condition limit", "c", "messages", "bytes",
                                                 "condition", "noise gain", "error", "us", "time", ""}};
  for (const FrontPoint& point : front.points) {
    const Candidate& candidate = point.candidate;
    rows.push_back(
        {std::string(runtime::name_of(candidate.construction)), limit_text(point),
         std::to_string(candidate.shape.components), std::string(runtime::name_of(candidate.wire)),
         fmt::format("{:.3f}", candidate.bytes_per_element()),
         fmt::format("{:.4g}", candidate.claim.condition), fmt::format("{:.3g}", candidate.claim.noise_gain),
         candidate.is_exact() ? "exact" : fmt::format("{:.2e}", candidate.counted_error()),
         fmt::format("{:.0f}", point.time_us), fmt::format("{:.3f}", point.time_us / front.baseline_us),
         point.on_common_front ? "front" : ""});
  }
  return fmt::format(
      "{}: {}, N = {}, {}, vectors of {}\n\n"
      "What neither an exact code nor one of the same construction and condition limit betters, with the "
      "same\n"
      "messages, in error and time at once; bytes: sent per element; times are predictions, relative to the\n"
      "{} ({:.0f} us); front: nothing here betters it\n{}",
      front.topology, front.title, front.workers, runtime::name_of(front.type),
      program::bytes_text(front.bytes), front.baseline, front.baseline_us, program::table_text(rows));
}

nlohmann::json front_json(const Front& front) {
  nlohmann::json points = nlohmann::json::array();
  for (const FrontPoint& point : front.points)
    points.push_back({{"construction", runtime::name_of(point.candidate.construction)},
                      {"condition_limit", limit_json(point)},
                      {"components", point.candidate.shape.components},
                      {"rounds", point.candidate.shape.rounds},
                      {"rate", point.candidate.rate()},
                      {"wire", runtime::name_of(point.candidate.wire)},
                      {"bytes_per_element", point.candidate.bytes_per_element()},
                      {"errors", claim_json(point.candidate.claim)},
                      {"time_us", point.time_us},
                      {"time_ratio", point.time_us / front.baseline_us},
                      {"front", point.on_common_front}});
  return {{"topology", front.topology}, {"workers", front.workers},         {"bytes", front.bytes},
          {"baseline", front.baseline}, {"baseline_us", front.baseline_us}, {"points", std::move(points)}};
}

}  // namespace

int run_pareto(const TuneArguments& arguments) {
  refuse_plan_options(arguments);
  const std::uint64_t bytes = program::parse_size(arguments.size);
  if (bytes == 0)
    throw Error(ErrorCode::invalid_argument,
                "--size is 0, but only vectors that hold something take time to "
                "send; give a size such as 256M.");
  if (!arguments.plot.empty()) check_image_path(arguments.plot);
  const Topology topology = load_topology(arguments.topology);
  Progress progress;
  SearchOptions options = search_options(arguments, topology);
  options.progress = [&](const std::string& step) { progress(step); };
  const Front front = pareto_front(topology, options, bytes);
  if (!arguments.plot.empty())
    write_image(arguments.plot, draw(front_script(front, image_format(arguments.plot))));
  progress.clear();
  if (arguments.json) {
    program::print("{}\n", front_json(front).dump(2));
  } else {
    program::print("{}", front_table(front));
    if (!arguments.plot.empty()) program::print("plot: {}\n", arguments.plot);
  }
  return 0;
}

}  // namespace cerar::tuner
