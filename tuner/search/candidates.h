#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/wire.h"
#include "tuner/cost/cost_model.h"
#include "tuner/topology/topology.h"

namespace cerar::tuner {

/// What the user asks of a plan.
struct SearchOptions {
  int workers = 0;
  double max_error = 1e-3;  ///< relative rms
  double max_condition = std::numeric_limits<double>::infinity();
  std::optional<runtime::Construction> construction;        ///< of approximate codes; all without it
  std::optional<int> components;                            ///< only this c
  runtime::DataType type = runtime::DataType::f32;          ///< of the vectors
  std::vector<runtime::Wire> wires = {runtime::Wire::f32};  ///< that messages may have
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Elements that share a scale in messages of block fixed point.
inline constexpr int kBlock = 128;

/// Type of messages that a plain all-reduce would have.
runtime::Wire native_wire(runtime::DataType type);

/// A code that was designed, with what it promises and what it costs.
struct Candidate {
  runtime::Construction construction = runtime::Construction::ring;
  runtime::Messages messages = runtime::Messages::sum;
  runtime::Shape shape;
  runtime::Wire wire = runtime::Wire::f32;
  runtime::ErrorClaim claim;                              ///< of every call; what a budget is compared with
  std::optional<runtime::ErrorClaim> claim_out_of_place;  ///< of calls out of place, where it is another
  runtime::Tables tables;
  double rounding = 0;  ///< of the result to vectors of 16 bits
  CostLine cost;
  std::string stop_reason;  ///< of the optimiser; empty where none ran
  bool allowed = false;     ///< within max_error and max_condition

  /// Nothing is lost but what any sum in f32 loses.
  bool is_exact() const { return construction == runtime::Construction::ring && wire == runtime::Wire::f32; }
  /// What budgets and the choice between codes weigh, for vectors of the type asked for: the claim and the
  /// rounding of the result. What any sum in f32 that is rounded once loses counts as none.
  double counted_error() const { return is_exact() ? 0 : std::hypot(claim.total, rounding); }
  double rate() const { return static_cast<double>(shape.rounds) / shape.components; }
  /// That each rank sends.
  double bytes_per_element() const { return rate() * runtime::bytes_per_element(wire, kBlock); }
};

/// Designs every candidate for each wire: rings, for each c that divides N, and the approximate
/// constructions: without `components` each other c < N for N <= 16 (unimodular), c = rN for a list of r, and
/// 3N/2 and 5N/2 for even N (plain). Vandermonde is designed only when asked for. Ordered by construction, c
/// and wire. Throws `invalid_argument` when `components` and `construction` leave nothing, and for a code
/// asked for by name that kernels cannot hold (r > 64, plain), that ends beyond c = 16N (plain), whose
/// condition cannot be kept, or whose error is 0.5 or more.
std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
