#pragma once

#include <Eigen/Dense>
#include <numbers>
#include <vector>

#include "runtime/plan/plan.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

// nu: the rms relative rounding error that one hop adds to a message (tuner/DESIGN.md, section 4).
//
// Rounding x = m 2^e, 1 <= m < 2, to the nearest number makes an error that is uniform over +-u 2^e, rms u
// 2^e / sqrt(3). With m distributed like 1/m, as numbers of no particular scale are, the mean of 1/m^2 is (1
// - 1/4) / (2 ln 2) = 0.541, so the rms error relative to x is u sqrt(0.541 / 3) = 0.425 u.
inline constexpr double kRoundingRms = 0.425;

/// f32 messages: the symbol is rounded by its multiply-add and once more when it is added to the message.
inline constexpr double kNuF32 = kRoundingRms * 0x1p-24 * std::numbers::sqrt2;
/// 16-bit messages: the arithmetic is f32, so only the rounding to the wire counts.
inline constexpr double kNuF16 = kRoundingRms * 0x1p-11;
inline constexpr double kNuBf16 = kRoundingRms * 0x1p-8;

/// Block fixed point of so many bits: an error uniform over +-1/2 unit, which is the block's largest
/// magnitude / (2^(bits-1) - 1). Relative to the block's rms, for independent normal elements: sqrt(E max^2 /
/// 12) / (2^(bits-1) - 1) with E max^2 = integral of 2 m (1 - P(|x| < m)^block) dm. In blocks of 128: 2.6e-5
/// for 16 bits, 4.1e-4 for 12, 6.6e-3 for 8; a power of two as scale would cost 1.4 times as much. Measured
/// by tests/unit/generator/wires_test.cpp.
double nu_of_blocks(int bits, int block);

double nu_of(runtime::Wire wire, int block);

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
