#pragma once

#include <vector>

#include "runtime/plan/plan.h"
#include "tuner/code/plain/decoder.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// Predicted relative rms errors of a plain code with this decoder, gradients independent over workers
/// (tuner/DESIGN.md, section 4). `nu` is the rms relative rounding error of a hop; `own_exact` says that the
/// worker's own vector comes out exactly (E_(p,0) = 0). The condition is that of V_(p,0), the worst phase.
runtime::ErrorClaim claim_of(const PlainCode& code, const Decoder& decoder, double nu,
                             bool own_exact = false);

/// The same where each rank adds a correction of its own vector, own[p], [workers], each r x r, [own
/// component][term], which leaves E_(p,0) + own[p] of its error.
runtime::ErrorClaim claim_of(const PlainCode& code, const Decoder& decoder, double nu,
                             const std::vector<Eigen::MatrixXd>& own);

/// The claim from its sums: `approximation_squares[p]` = sum over delta of ||E_(p,delta)||_F^2 and
/// `noise_squares` = sum over p of tr(D_p^T K_p D_p) for nu = 1.
runtime::ErrorClaim claim_from_sums(const runtime::Shape& shape,
                                    const std::vector<double>& approximation_squares, double noise_squares,
                                    double condition, double nu);

}  // namespace cerar::tuner
