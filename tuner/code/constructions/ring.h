#pragma once

#include "runtime/plan/plan.h"

namespace cerar::tuner {

/// What messages that are plain sums claim on a wire that rounds by `nu`: partial sums of 1..N-1 workers, and
/// the whole one where it is passed on, which every rank keeps as it was sent.
runtime::ErrorClaim sum_claim(const runtime::Shape& shape, double nu);

}  // namespace cerar::tuner
