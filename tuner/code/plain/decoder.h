#pragma once

#include <Eigen/Dense>
#include <vector>

#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// D_p for every phase: component k of the sum is the sum over samples s of phase[p](s, k) x_s.
struct Decoder {
  std::vector<Eigen::MatrixXd> phase;  ///< [workers], each r x r, [sample][term]
};

/// The least-squares decoder of tuner/DESIGN.md, section 3: D_p minimises
///
///     sum over delta of ||V_(p,delta) D - I||_F^2 + nu^2 tr(D^T K_p D)     (K_p for nu = 1)
///
/// by QR of the stacked system with an exact square root of K_p. `nu` = 0 ignores noise. `own_exact` leaves
/// out delta = 0: the worker puts its own vector in exactly (out of place). Throws `invalid_argument` for a
/// negative nu and for own_exact with one worker.
Decoder least_squares_decoder(const PlainCode& code, double nu, bool own_exact = false);

/// The total relative rms error of `claim_of` with this decoder, averaged over phases 0..phases-1: the
/// residual of the least squares, without the SVDs of a whole claim.
double least_squares_error(const PlainCode& code, double nu, bool own_exact, int phases);

}  // namespace cerar::tuner
