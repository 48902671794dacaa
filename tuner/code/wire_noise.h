#pragma once

#include <numbers>

#include "runtime/plan/plan.h"

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

}  // namespace cerar::tuner
