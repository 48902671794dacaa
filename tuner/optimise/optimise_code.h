#pragma once

#include <limits>

#include "tuner/code/differential/differential.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/optimise/minimise.h"

namespace cerar::tuner {

/// What a plain code is optimised for.
struct CodeGoal {
  double nu = 0;                                                     ///< rms rounding error of a hop
  double condition_limit = std::numeric_limits<double>::infinity();  ///< max over p of cond(V_(p,0))
  bool own_exact = false;                                            ///< out of place, own vector exact
  int max_evaluations = 400;                                         ///< of the SQP solver
};

struct OptimisedCode {
  PlainCode code;
  double epsilon = 0;      ///< of the harmonic code, and the scale of the variables
  double error = 0;        ///< total relative rms error, before any rounding of tables
  double start_error = 0;  ///< that of the harmonic code it started from
  double condition = 1;    ///< max over p of cond(V_(p,0))
  int evaluations = 0;
  StopReason stop = StopReason::converged;
};

/// The harmonic code for c = terms * workers with the epsilon of least total error among those within the
/// condition limit. Throws `invalid_argument` for workers < 2, terms < 2, when neither nu nor a limit bounds
/// the drift from below (the error then only falls with epsilon), and when no epsilon meets the limit.
OptimisedCode best_harmonic(int workers, int terms, const CodeGoal& goal);

/// The optimised code: starts from `best_harmonic` and is never worse; deterministic. Throws as that does.
OptimisedCode optimise_code(int workers, int terms, const CodeGoal& goal);

struct BestDifferential {
  DifferentialDesign design;
  int evaluations = 0;
};

/// The differential code with the epsilon (an exact f32 number) of least total error. Throws
/// `invalid_argument` for workers < 2, terms < 2 and nu <= 0.
BestDifferential best_differential(int workers, int terms, double nu, bool own_exact);

}  // namespace cerar::tuner
