#pragma once

#include "tuner/code/differential/differential.h"
#include "tuner/optimise/best_drift.h"

namespace cerar::tuner {

/// The optimised code for any c: starts from `best_harmonic`, is never worse, and is deterministic. For c <=
/// N there is nothing to gain, and it is the harmonic code. Throws as `best_harmonic` does.
OptimisedCode optimise_code(int workers, int components, const CodeGoal& goal);

struct BestDifferential {
  DifferentialDesign design;
  int evaluations = 0;
};

/// The differential code with the epsilon (an exact f32 number) of least total error. Throws
/// `invalid_argument` for workers < 2, terms < 2 and nu <= 0.
BestDifferential best_differential(int workers, int terms, double nu, bool own_exact);

}  // namespace cerar::tuner
