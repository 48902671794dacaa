#include "tuner/cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/plan/elements.h"
#include "runtime/plan/names.h"
#include "runtime/program/text.h"
#include "tuner/search/pareto.h"

namespace cerar::tuner {
namespace {

constexpr double kSizes[] = {1048576.0, 64 * 1048576.0, 1024 * 1048576.0};

std::string error_text(const Candidate& candidate) {
  return candidate.is_exact() ? "exact" : fmt::format("{:.2e}", candidate.counted_error());
}

std::string remark(const Candidate& candidate, bool chosen, double max_condition) {
  if (chosen) return "chosen";
  if (candidate.allowed) return "";
  return candidate.claim.condition > max_condition ? "ill-conditioned" : "too inexact";
}

// Of many wires only what nothing betters, large vectors considered.
std::vector<std::size_t> shown(const std::vector<Candidate>& candidates, const std::set<std::size_t>& chosen,
                               bool several_wires) {
  std::vector<std::size_t> list;
  std::vector<Objectives> objectives;
  for (const Candidate& candidate : candidates)
    objectives.push_back({candidate.counted_error(), candidate.cost.us_per_mib});
  const auto front = non_dominated(objectives);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (!several_wires || chosen.count(i) > 0 || std::binary_search(front.begin(), front.end(), i))
      list.push_back(i);
  return list;
}

std::string candidate_table(const std::vector<Candidate>& candidates, const CostLine& baseline,
                            const Selection& selection, const SearchOptions& options) {
  std::set<std::size_t> chosen;
  for (const auto& choice : selection.choices) chosen.insert(choice.candidate);
  const bool several_wires = options.wires.size() > 1;
  std::vector<std::vector<std::string>> rows = {{"construction", "c", "messages", "rounds", "bytes",
                                                 "condition", "noise gain", "error", "1 MiB", "64 MiB",
                                                 "1 GiB", "large", ""}};
  for (const std::size_t i : shown(candidates, chosen, several_wires)) {
    const Candidate& candidate = candidates[i];
    std::vector<std::string> row = {std::string(runtime::name_of(candidate.construction)),
                                    std::to_string(candidate.shape.components),
                                    std::string(runtime::name_of(candidate.wire)),
                                    std::to_string(candidate.shape.rounds),
                                    fmt::format("{:.3f}", candidate.bytes_per_element()),
                                    fmt::format("{:.4g}", candidate.claim.condition),
                                    fmt::format("{:.3g}", candidate.claim.noise_gain),
                                    error_text(candidate)};
    for (double bytes : kSizes)
      row.push_back(fmt::format("{:.3f}", candidate.cost.at(bytes) / baseline.at(bytes)));
    row.push_back(fmt::format("{:.3f}", candidate.cost.us_per_mib / baseline.us_per_mib));
    row.push_back(remark(candidate, chosen.count(i) > 0, options.max_condition));
    rows.push_back(std::move(row));
  }
  return program::table_text(rows);
}

std::string ranges_text(const std::vector<runtime::ByteRange>& ranges) {
  std::vector<std::string> texts;
  for (const auto& range : ranges)
    texts.push_back(range.min_bytes == 0 && range.max_bytes == runtime::ByteRange{}.max_bytes
                        ? "all sizes"
                        : fmt::format("{} to {}", program::bytes_text(range.min_bytes),
                                      program::bytes_text(range.max_bytes)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// For vectors of the plan's type.
double error_of(const runtime::Variant& variant, runtime::DataType type) {
  return std::hypot(variant.claim.total,
                    runtime::result_rounding(variant.messages, variant.shape, variant.wire, type));
}

std::string variants_table(const runtime::Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"variant", "from", "to", "c", "messages", "rounds", "error",
                                                 "ranks", "lanes", "us at the end", "baseline"}};
  for (const auto& variant : plan.variants) {
    const bool unbounded = variant.max_bytes == runtime::ByteRange{}.max_bytes;
    const std::uint64_t bytes = unbounded
                                    ? std::max<std::uint64_t>(std::uint64_t{1} << 30, 2 * variant.min_bytes)
                                    : variant.max_bytes;
    const double mib = static_cast<double>(bytes) / 1048576.0;
    rows.push_back({variant.name, program::bytes_text(variant.min_bytes),
                    program::bytes_text(variant.max_bytes), std::to_string(variant.shape.components),
                    std::string(runtime::name_of(variant.wire)), std::to_string(variant.shape.rounds),
                    is_exact(variant) ? "exact" : fmt::format("{:.2e}", error_of(variant, plan.data_type)),
                    is_identical_on_all_ranks(variant) ? "identical" : "differ",
                    std::to_string(variant.lanes),
                    fmt::format("{:.0f}{}", variant.prediction.fixed_us + variant.prediction.us_per_mib * mib,
                                unbounded ? fmt::format(" ({})", program::bytes_text(bytes)) : ""),
                    fmt::format("{:.0f}", variant.prediction.baseline_fixed_us +
                                              variant.prediction.baseline_us_per_mib * mib)});
  }
  std::string text = program::table_text(rows);
  text += "ranks: whether all end with the same bits, or differ by about the error (of rounding, if exact)\n";
  for (const auto& variant : plan.variants)
    if (variant.claim_out_of_place)
      text += fmt::format("{}: error {:.2e} out of place, for vectors of f32\n", variant.name,
                          variant.claim_out_of_place->total);
  if (!plan.baseline_faster.empty())
    text += fmt::format("the {} is predicted faster: {}; transports that offer it use it there\n",
                        plan.baseline, ranges_text(plan.baseline_faster));
  return text;
}

}  // namespace

nlohmann::json claim_json(const runtime::ErrorClaim& claim) {
  return {{"condition", claim.condition},
          {"noise_gain", claim.noise_gain},
          {"approximation", claim.approximation},
          {"approximation_worst", claim.approximation_worst},
          {"noise", claim.noise},
          {"total", claim.total}};
}

std::string tune_report(const std::vector<Candidate>& candidates, const Selection& selection,
                        const runtime::Plan& plan, const Topology& topology, const SearchOptions& options,
                        const std::optional<Candidate>& with_any_wire) {
  std::string text =
      fmt::format("{}: {}, N = {}, {}, relative rms error up to {:.3g}\n\n", topology.name, topology.title,
                  options.workers, runtime::name_of(options.type), options.max_error);
  const CostLine baseline = baseline_cost(topology, options.workers);
  if (options.workers > 1) {
    text += fmt::format(
        "{}; bytes: sent per element; times are predictions, relative to the {}\n",
        options.wires.size() > 1 ? "Candidates that no other betters for large vectors" : "Candidates",
        plan.baseline);
    text += candidate_table(candidates, baseline, selection, options) + "\n";
  }
  text += plan_report(plan);
  if (with_any_wire)
    text += fmt::format(
        "--wire auto would choose {} c = {} in messages of {} for large vectors: {:.3f} of the "
        "time of the {}, {}\n",
        runtime::name_of(with_any_wire->construction), with_any_wire->shape.components,
        runtime::name_of(with_any_wire->wire), with_any_wire->cost.us_per_mib / baseline.us_per_mib,
        plan.baseline,
        with_any_wire->is_exact() ? "exact"
                                  : fmt::format("an error of {:.2e}", with_any_wire->counted_error()));
  return text;
}

std::string plan_report(const runtime::Plan& plan) {
  std::string text = fmt::format("Choice: {}.\n\n{}", plan.reason, variants_table(plan));
  std::set<std::string> targets;
  int registers = 0, spills = 0;
  for (const auto& variant : plan.variants)
    for (const auto& kernel : variant.kernels)
      for (const auto& use : kernel.resources) {
        targets.insert(use.target);
        registers = std::max(registers, use.registers);
        spills += use.spill_bytes;
      }
  if (!targets.empty())
    text += fmt::format("cubins: {}; at most {} registers, {} bytes spilled\n", fmt::join(targets, ", "),
                        registers, spills);
  return text;
}

nlohmann::json tune_json(const std::vector<Candidate>& candidates, const runtime::Plan& plan,
                         const Topology& topology, const std::filesystem::path& directory,
                         const std::optional<Candidate>& with_any_wire) {
  const CostLine baseline = baseline_cost(topology, plan.workers);
  nlohmann::json list = nlohmann::json::array();
  for (const auto& candidate : candidates)
    list.push_back({{"construction", runtime::name_of(candidate.construction)},
                    {"components", candidate.shape.components},
                    {"rounds", candidate.shape.rounds},
                    {"rate", candidate.rate()},
                    {"wire", runtime::name_of(candidate.wire)},
                    {"bytes_per_element", candidate.bytes_per_element()},
                    {"errors", claim_json(candidate.claim)},
                    {"fixed_us", candidate.cost.fixed_us},
                    {"us_per_mib", candidate.cost.us_per_mib},
                    {"large_ratio", candidate.cost.us_per_mib / baseline.us_per_mib},
                    {"stop_reason", candidate.stop_reason},
                    {"allowed", candidate.allowed}});
  nlohmann::json result = plan_json(plan);
  result["candidates"] = std::move(list);
  result["baseline_fixed_us"] = baseline.fixed_us;
  result["baseline_us_per_mib"] = baseline.us_per_mib;
  result["directory"] = directory.string();
  if (with_any_wire)
    result["with_wire_auto"] = {{"construction", runtime::name_of(with_any_wire->construction)},
                                {"components", with_any_wire->shape.components},
                                {"wire", runtime::name_of(with_any_wire->wire)},
                                {"error", with_any_wire->counted_error()},
                                {"large_ratio", with_any_wire->cost.us_per_mib / baseline.us_per_mib}};
  return result;
}

nlohmann::json plan_json(const runtime::Plan& plan) {
  nlohmann::json variants = nlohmann::json::array();
  for (const auto& variant : plan.variants) {
    variants.push_back(
        {{"name", variant.name},
         {"min_bytes", variant.min_bytes},
         {"max_bytes", variant.max_bytes},
         {"construction", runtime::name_of(variant.construction)},
         {"messages", runtime::name_of(variant.messages)},
         {"components", variant.shape.components},
         {"rounds", variant.shape.rounds},
         {"wire", runtime::name_of(variant.wire)},
         {"lanes", variant.lanes},
         {"errors", claim_json(variant.claim)},
         {"exact", is_exact(variant)},
         {"error", is_exact(variant) ? 0 : error_of(variant, plan.data_type)},
         {"identical_on_all_ranks", is_identical_on_all_ranks(variant)},
         {"fixed_us", variant.prediction.fixed_us},
         {"us_per_mib", variant.prediction.us_per_mib},
         {"large_ratio", variant.prediction.us_per_mib / variant.prediction.baseline_us_per_mib}});
    if (variant.claim_out_of_place)
      variants.back()["errors_out_of_place"] = claim_json(*variant.claim_out_of_place);
  }
  nlohmann::json ranges = nlohmann::json::array();
  for (const auto& range : plan.baseline_faster)
    ranges.push_back({{"min_bytes", range.min_bytes}, {"max_bytes", range.max_bytes}});
  return {{"topology", plan.topology},
          {"workers", plan.workers},
          {"data_type", runtime::name_of(plan.data_type)},
          {"reason", plan.reason},
          {"max_error", plan.max_error},
          {"baseline", plan.baseline},
          {"baseline_faster", std::move(ranges)},
          {"digest", plan.digest},
          {"variants", std::move(variants)}};
}

}  // namespace cerar::tuner
