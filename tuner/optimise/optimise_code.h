#pragma once

#include <functional>
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
  std::function<void()> step = {};                                   ///< called for each code that is tried
};

struct OptimisedCode {
  PlainCode code;
  double drift = 0;        ///< epsilon (harmonic; also the scale of the solver's variables) or spread
  double error = 0;        ///< total relative rms error, before any rounding of tables
  double start_error = 0;  ///< that of the harmonic code it started from
  double condition = 1;    ///< max over p of cond(V_(p,0)), all phases
  int evaluations = 0;
  StopReason stop = StopReason::converged;
};

/// The code of one construction, for any c, whose drift has the least total error among those within the
/// condition limit. Where the construction is exact (harmonic for c <= N, vandermonde where c divides N)
/// there is nothing to choose, and the code is returned as it is.
///
/// Throws `invalid_argument` for workers < 2 and components < 1; for a negative nu, and when neither nu nor a
/// limit bounds the drift from below (the error then only falls with it); when no drift meets the limit; and
/// when the condition exceeds 1e13, which double precision cannot hold.
OptimisedCode best_harmonic(int workers, int components, const CodeGoal& goal);
OptimisedCode best_vandermonde(int workers, int components, const CodeGoal& goal);

/// Phases of which each other one is a copy, 0..Q-1: phases that are equal modulo Q take their samples at the
/// same visits. Their chains differ, which turns the matrices of a harmonic code by an orthogonal matrix and
/// leaves those of a vandermonde code alone; errors and conditions are the same.
int distinct_phases(const runtime::Shape& shape);

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
