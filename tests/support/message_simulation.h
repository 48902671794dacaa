#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cerar::testing {

/// What the workers hold: independent normal numbers, or the same normal numbers on every worker.
enum class Gradients { independent, equal };

struct SimulationSettings {
  int elements = 20000;  ///< of the vector, about (rounded to whole components)
  Gradients gradients = Gradients::independent;
  /// Significant bits of a message on the wire, exponents unlimited: 24 is f32, 11 f16 with scaled messages,
  /// 8 bf16.
  int wire_bits = 24;
  std::uint64_t seed = 1;
};

/// Rms over ranks and elements, relative to the rms of the exact sum (in double).
struct Measured {
  double error = 0;
  double rank_difference = 0;  ///< of each rank's result from the mean over ranks
};

/// All N ranks send real messages, hop by hop in f32 arithmetic, and decode with the tables: the protocol of
/// tuner/DESIGN.md, sections 2 and 6, written from its text and sharing nothing with the error model or the
/// schedule.
Measured simulate(const runtime::Shape& shape, const runtime::PlainTables& tables,
                  const SimulationSettings& settings);
Measured simulate(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                  const SimulationSettings& settings);

}  // namespace cerar::testing
