#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tuner/cost/cost_model.h"
#include "tuner/topology/topology.h"

namespace cerar::tuner {

/// What the user asks of a plan.
struct SearchOptions {
  int workers = 0;
  double max_error = 1e-3;  ///< relative rms
  double max_condition = std::numeric_limits<double>::infinity();
  std::optional<runtime::Construction> construction;  ///< of approximate codes; all without it
  std::optional<int> components;                      ///< only this c
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// A code that was designed, with what it promises and what it costs.
struct Candidate {
  runtime::Construction construction = runtime::Construction::ring;
  runtime::Messages messages = runtime::Messages::sum;
  runtime::Shape shape;
  runtime::ErrorClaim claim;
  runtime::Tables tables;
  CostLine cost;
  std::string stop_reason;  ///< of the optimiser; empty where none ran
  bool allowed = false;     ///< within max_error and max_condition

  bool is_exact() const { return messages == runtime::Messages::sum; }
  double rate() const { return static_cast<double>(shape.rounds) / shape.components; }
};

/// Designs every candidate: the exact sums for each c that divides N, and for c = rN the approximate
/// constructions. Ordered by construction, then c. Throws `invalid_argument` when `components` and
/// `construction` leave nothing.
std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
