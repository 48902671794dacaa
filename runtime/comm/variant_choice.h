#pragma once

#include <cstdint>

#include "runtime/comm/executor.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// The variant whose byte range holds `bytes`; a checked plan always has exactly one.
const Variant& variant_for(const Plan& plan, std::uint64_t bytes);

/// What the variant claims for a call. Out of place it is `claim_apart` where there is one, but for vectors
/// that are `copied` before they are worked on, as those of 16 bits are, and for the elements behind the last
/// whole row of every class, which are copied too; with both it is the rms of both. The rounding
/// of the result to a type of 16 bits is part of the total.
CallClaim claim_for(const Variant& variant, const Call& call, bool copied);

}  // namespace cerar::runtime
