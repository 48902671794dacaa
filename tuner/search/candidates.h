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

  bool is_exact() const { return construction == runtime::Construction::ring; }
  double rate() const { return static_cast<double>(shape.rounds) / shape.components; }
};

/// Designs every candidate: the exact codes, for each c that divides N and for N <= 16 each other c < N, and
/// the approximate constructions. Without `components` these are c = rN for a list of r, and 3N/2 and 5N/2
/// for even N (plain). Vandermonde is designed only when asked for. Ordered by construction, then c. Throws
/// `invalid_argument` when `components` and `construction` leave nothing, and for a code asked for by name
/// that kernels cannot hold (r > 64, plain), that ends beyond c = 16N (plain), whose condition cannot be
/// kept, or whose error is 0.5 or more.
std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
