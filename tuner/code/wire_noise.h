#pragma once

#include <numbers>

namespace cerar::tuner {

// nu: the rms relative rounding error that one hop adds to a message (design, section 4).
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

}  // namespace cerar::tuner
