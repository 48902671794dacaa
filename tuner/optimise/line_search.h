#pragma once

#include <functional>

#include "tuner/optimise/minimise.h"

namespace cerar::tuner {

/// Local minimum of a smooth positive function of one positive variable: walks downhill from `guess` until it
/// is bracketed, then fits parabolas to its logarithm over that of x, to a relative width of 1e-3. About ten
/// evaluations from a good guess. An end of [lower, upper] is a minimum like any other.
ScalarResult minimise_near(const std::function<double(double)>& function, double guess, double lower,
                           double upper);

/// Where a function of one positive variable comes down to 0: positive at `above`, 0 or less at `below`.
/// Regula falsi in log x. Returns a point where the function is 0 or less, within `tolerance` of 0 or a
/// relative 1e-12 from a positive value.
double crossing(const std::function<double(double)>& function, double above, double below, double tolerance);

}  // namespace cerar::tuner
