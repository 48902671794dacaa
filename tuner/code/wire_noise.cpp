#include "tuner/code/wire_noise.h"

#include <cmath>

#include "runtime/plan/wire.h"

namespace cerar::tuner {

double nu_of_blocks(int bits, int block) {
  // Beyond 9 standard deviations nothing is left of the integrand in double.
  constexpr int kSteps = 9000;
  constexpr double kStep = 9.0 / kSteps;
  double mean_square = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double m = (i + 0.5) * kStep;
    mean_square += 2 * m * (1 - std::pow(std::erf(m / std::numbers::sqrt2), block)) * kStep;
  }
  // The largest element itself is a whole number of scales.
  return std::sqrt(mean_square / 12 * (1 - 1.0 / block)) / (std::exp2(bits - 1) - 1);
}

double nu_of(runtime::Wire wire, int block) {
  const auto& format = runtime::format_of(wire);
  if (wire == runtime::Wire::f32) return kNuF32;
  return format.significand > 0 ? kRoundingRms * std::exp2(-format.significand)
                                : nu_of_blocks(format.bits, block);
}

}  // namespace cerar::tuner
