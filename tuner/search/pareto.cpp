#include "tuner/search/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "runtime/base/error.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;

constexpr double kConditionLimits[] = {10, 100, 1e3, 1e4, 1e6};
constexpr Construction kApproximate[] = {Construction::unimodular, Construction::harmonic,
                                         Construction::vandermonde, Construction::optimized,
                                         Construction::differential};

std::vector<Candidate> design_or_none(const Topology& topology, const SearchOptions& options) {
  try {
    return design_candidates(topology, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return {};
  }
}

/// The codes of one construction that the options allow.
std::vector<Candidate> design(const Topology& topology, SearchOptions options, Construction construction,
                              double condition_limit) {
  options.construction = construction;
  options.max_condition = condition_limit;
  std::vector<Candidate> list = design_or_none(topology, options);
  std::erase_if(list, [&](const Candidate& candidate) {
    return !candidate.allowed || candidate.construction != construction;
  });
  return list;
}

/// Descending, from the user's own limit.
std::vector<double> condition_limits(double largest) {
  std::vector<double> limits = {largest};
  for (auto limit = std::rbegin(kConditionLimits); limit != std::rend(kConditionLimits); ++limit)
    if (*limit < largest) limits.push_back(*limit);
  return limits;
}

// Exact codes, which come first, keep every limit and stand beside every construction with the same messages:
// what they better is no one's choice.
void add_front_of_wire(const std::vector<Candidate>& candidates, runtime::Wire wire, double condition_limit,
                       Front& front) {
  std::vector<FrontPoint> points;
  std::vector<Objectives> objectives;
  for (const Candidate& candidate : candidates) {
    if (candidate.wire != wire) continue;
    points.push_back({candidate, condition_limit, candidate.cost.at(static_cast<double>(front.bytes))});
    objectives.push_back(points.back().objectives());
  }
  for (const FrontPoint& point : front.points)
    if (point.candidate.construction == Construction::ring && point.candidate.wire == wire)
      objectives.push_back(point.objectives());
  for (std::size_t index : non_dominated(objectives))
    if (index < points.size()) front.points.push_back(std::move(points[index]));
}

void add_front(const std::vector<Candidate>& candidates, double condition_limit, Front& front) {
  for (const runtime::Wire wire : front.wires) add_front_of_wire(candidates, wire, condition_limit, front);
}

void add_construction(const Topology& topology, const SearchOptions& options, Construction construction,
                      Front& front) {
  const double largest = options.max_condition;
  std::vector<Candidate> codes = design(topology, options, construction, largest);
  if (!heeds_condition_limit(construction)) {
    add_front(codes, largest, front);
    return;
  }
  for (double limit : condition_limits(largest)) {
    // What a wider limit refused a tighter one refuses too, and what is within both is the same code.
    std::vector<Candidate> within;
    for (Candidate& code : codes) {
      if (code.claim.condition <= limit) {
        within.push_back(std::move(code));
        continue;
      }
      SearchOptions one = options;
      one.components = code.shape.components;
      one.wires = {code.wire};
      for (Candidate& again : design(topology, one, construction, limit)) within.push_back(std::move(again));
    }
    codes = std::move(within);
    add_front(codes, limit, front);
  }
}

void mark_common_front(Front& front) {
  std::vector<Objectives> objectives;
  for (const FrontPoint& point : front.points) objectives.push_back(point.objectives());
  for (std::size_t index : non_dominated(objectives)) front.points[index].on_common_front = true;
}

// What was asked for by name and has no points is an error, as it is in a search.
void check_named(const Topology& topology, const SearchOptions& options, const Front& front) {
  const bool approximate = options.construction && *options.construction != Construction::ring;
  for (const FrontPoint& point : front.points)
    if (!approximate || point.candidate.construction != Construction::ring) return;
  if (approximate && options.workers == 2 && !front.points.empty()) return;
  design_candidates(topology, options);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("no code of the kind asked for keeps an error of {:.4g} and a condition of {:.5g}; "
                          "allow more.",
                          options.max_error, options.max_condition));
}

}  // namespace

std::vector<std::size_t> non_dominated(const std::vector<Objectives>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::tuple(all[i].time_us, all[i].error); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> kept;
  for (std::size_t index : order)
    if (kept.empty() || all[index].error < all[kept.back()].error || key(index) == key(kept.back()))
      kept.push_back(index);
  std::sort(kept.begin(), kept.end());
  return kept;
}

bool heeds_condition_limit(Construction construction) {
  return construction == Construction::harmonic || construction == Construction::vandermonde ||
         construction == Construction::optimized;
}

Front pareto_front(const Topology& topology, const SearchOptions& options, std::uint64_t bytes) {
  if (options.workers < 2)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} worker has nothing to send, so there is no time to weigh an error against; "
                            "use two or more.",
                            options.workers));
  Front front;
  front.topology = topology.name;
  front.title = topology.title;
  front.baseline = baseline_name(topology);
  front.workers = options.workers;
  front.bytes = bytes;
  front.type = options.type;
  front.wires = options.wires;
  front.baseline_us = baseline_cost(topology, options.workers).at(static_cast<double>(bytes));
  add_construction(topology, options, Construction::ring, front);
  for (Construction construction : kApproximate)
    if (!options.construction || *options.construction == construction)
      add_construction(topology, options, construction, front);
  const auto key = [](const FrontPoint& point) {
    return std::tuple(point.candidate.construction, point.condition_limit, point.candidate.wire,
                      point.candidate.shape.components);
  };
  std::stable_sort(front.points.begin(), front.points.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  check_named(topology, options, front);
  mark_common_front(front);
  return front;
}

}  // namespace cerar::tuner
