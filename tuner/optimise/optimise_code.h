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

/// The differential code of two contributions with the epsilon (an exact f32 number) of least total error. A
/// third would lower it by less than 0.1 % in f32, f16, fx16 and fx12, 0.2 % in bf16 and 0.7 % in fx8, and
/// make each visit read one line more. Throws `invalid_argument` for workers < 2, terms < 2 and nu <= 0.
/// `step` is called for each code that is tried.
BestDifferential best_differential(int workers, int terms, double nu, bool own_exact,
                                   const std::function<void()>& step = {});

}  // namespace cerar::tuner
