#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "runtime/program/output.h"
#include "runtime/program/text.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/report.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;

constexpr Construction kCompared[] = {Construction::unimodular, Construction::vandermonde,
                                      Construction::harmonic, Construction::optimized,
                                      Construction::differential};

struct Entry {
  Construction construction;
  int components;
  std::optional<runtime::ErrorClaim> claim;
  std::string refusal;  ///< why there is no claim
};

Entry design(Construction construction, int components, SearchOptions options) {
  // Codes depend on no topology; any one will do.
  static const Topology topology = load_topology("local");
  Entry entry{construction, components, {}, {}};
  options.construction = construction;
  options.components = components;
  try {
    for (const Candidate& candidate : design_candidates(topology, options))
      if (!candidate.is_exact()) entry.claim = candidate.claim;
    if (!entry.claim) entry.refusal = fmt::format("c = {} is summed exactly.", components);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    entry.refusal = error.what();
  }
  return entry;
}

std::vector<int> default_components(int workers) {
  const std::set<int> list = {workers + 1, 3 * workers / 2, 2 * workers,
                              3 * workers, 4 * workers,     8 * workers};
  return {list.begin(), list.end()};
}

std::string comparison_table(const std::vector<Entry>& entries) {
  std::vector<std::vector<std::string>> rows = {{"construction", "c", "error", "condition", "noise gain"}};
  std::map<std::string, std::vector<std::string>> refused;  // by reason
  for (const Entry& entry : entries) {
    const std::string name(runtime::name_of(entry.construction));
    std::vector<std::string> row = {name, std::to_string(entry.components), "-", "-", "-"};
    if (entry.claim) {
      row[2] = fmt::format("{:.2e}", entry.claim->total);
      row[3] = fmt::format("{:.4g}", entry.claim->condition);
      row[4] = fmt::format("{:.3g}", entry.claim->noise_gain);
    } else {
      refused[entry.refusal].push_back(fmt::format("{} c = {}", name, entry.components));
    }
    rows.push_back(std::move(row));
  }
  std::string text = program::table_text(rows) + (refused.empty() ? "" : "\nNot there:\n");
  for (const auto& [reason, codes] : refused) text += fmt::format("{}: {}\n", fmt::join(codes, ", "), reason);
  return text;
}

nlohmann::json comparison_json(int workers, const std::vector<Entry>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const Entry& entry : entries) {
    nlohmann::json item = {{"construction", runtime::name_of(entry.construction)},
                           {"components", entry.components}};
    if (entry.claim)
      item["errors"] = claim_json(*entry.claim);
    else
      item["refusal"] = entry.refusal;
    list.push_back(std::move(item));
  }
  return {{"workers", workers}, {"codes", std::move(list)}};
}

}  // namespace

int run_compare(const CompareArguments& arguments) {
  if (arguments.workers < 3 || arguments.workers > 256)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--workers is {} but must lie in 3..256: with fewer every sum is exact.",
                            arguments.workers));
  std::vector<int> components = arguments.components;
  for (const int c : components)
    if (c < 1 || c > 1 << 16)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--components has {} but must lie in 1..65536.", c));
  if (components.empty()) components = default_components(arguments.workers);
  Progress progress;
  SearchOptions options;
  options.workers = arguments.workers;
  options.progress = [&](const std::string& step) { progress(step); };
  std::vector<Entry> entries;
  for (const int c : components)
    for (const Construction construction : kCompared)
      if (construction != Construction::unimodular || c < arguments.workers)
        entries.push_back(design(construction, c, options));
  progress.clear();
  if (arguments.json)
    program::print("{}\n", comparison_json(arguments.workers, entries).dump(2));
  else
    program::print("N = {}, f32, each code with the drift of least error\n\n{}", arguments.workers,
                   comparison_table(entries));
  return 0;
}

}  // namespace cerar::tuner
