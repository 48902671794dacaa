#pragma once

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// How far messages outgrow results: the sum over components of the largest coefficient, in magnitude, with
/// which a rank stands in any message. 1 for partial sums. Where each component's sum of magnitudes over
/// ranks is at most x, no message exceeds growth * x, but for the code's error.
double growth_of(const Shape& shape, const Tables& tables);

/// The power of two that elements of messages of f16 are multiplied by, so that no message overflows where no
/// result does: where a sum of magnitudes stays below 64000, and for averages where each element does, until
/// the sum is divided (`divided`). 1 for other messages.
float message_gain(const Variant& variant, bool averages, bool divided);

}  // namespace cerar::runtime
