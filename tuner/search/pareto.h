#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/search/candidates.h"

namespace cerar::tuner {

/// What a front weighs; less is better in both.
struct Objectives {
  double error = 0;
  double time_us = 0;
};

/// Indices, ascending, of those that nothing dominates: nothing is as good in both and better in one. Equal
/// ones stay together.
std::vector<std::size_t> non_dominated(const std::vector<Objectives>& all);

/// Whether a limit of the condition number changes the codes of a construction.
bool heeds_condition_limit(runtime::Construction construction);

struct FrontPoint {
  Candidate candidate;
  double condition_limit = 0;  ///< that it was designed for; infinite for none
  double time_us = 0;          ///< predicted
  bool on_common_front = false;

  Objectives objectives() const { return {candidate.counted_error(), time_us}; }
};

/// Which codes are worth a thought for vectors of one size.
struct Front {
  std::string topology;  ///< name
  std::string title;     ///< of the topology
  std::string baseline;  ///< name of what times are compared with
  int workers = 0;
  std::uint64_t bytes = 0;
  runtime::DataType type = runtime::DataType::f32;
  std::vector<runtime::Wire> wires = {runtime::Wire::f32};
  double baseline_us = 0;
  /// By construction, condition limit, wire and c. Non-dominated among those of its construction, limit and
  /// wire and the exact ones of that wire; `on_common_front` marks those that nothing here dominates.
  std::vector<FrontPoint> points;
};

/// Designs each construction under each condition limit (10, 100, 1e3, 1e4, 1e6 and `options.max_condition`,
/// none above that), and keeps what neither an exact code nor one of the same construction and limit
/// of the same messages dominates in error and in predicted time at `bytes`. Codes that no limit changes
/// (ring, unimodular, differential) are designed once. The options mean what they mean to
/// `design_candidates`, and codes beyond `max_error` are left out; a construction that refuses a limit has no
/// points there. Throws `invalid_argument` for fewer than two workers, and where `design_candidates` does or
/// the limits leave nothing of the kind asked for.
Front pareto_front(const Topology& topology, const SearchOptions& options, std::uint64_t bytes);

}  // namespace cerar::tuner
