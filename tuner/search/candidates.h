#pragma once

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
  runtime::ErrorClaim claim;                       ///< of every call; what a budget is compared with
  std::optional<runtime::ErrorClaim> claim_apart;  ///< of calls out of place, where it is another
  runtime::Tables tables;
  CostLine cost;
  std::string stop_reason;  ///< of the optimiser; empty where none ran
  bool allowed = false;     ///< within max_error and max_condition

  /// Nothing is lost but what any sum in f32 loses.
  bool is_exact() const { return construction == runtime::Construction::ring && wire == runtime::Wire::f32; }
  /// What the choice between codes weighs: the rounding that any sum in f32 has counts as none.
  double counted_error() const { return is_exact() ? 0 : claim.total; }
  double rate() const { return static_cast<double>(shape.rounds) / shape.components; }
  /// That each rank sends.
  double bytes_per_element() const { return rate() * runtime::bytes_per_element(wire, kBlock); }
};

/// Designs every candidate for each wire: the exact codes, for each c that divides N and for N <= 16 each
/// other c < N, and the approximate constructions. Without `components` these are c = rN for a list of r, and
/// 3N/2 and 5N/2 for even N (plain). Vandermonde is designed only when asked for. Ordered by construction, c
/// and wire. Throws `invalid_argument` when `components` and `construction` leave nothing, and for a code
/// asked for by name that kernels cannot hold (r > 64, plain), that ends beyond c = 16N (plain), whose
/// condition cannot be kept, or whose error is 0.5 or more.
std::vector<Candidate> design_candidates(const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
