#pragma once

#include <cstdint>

#include "runtime/executor/executor.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// The variant whose byte range holds `bytes`; a checked plan always has exactly one.
const Variant& variant_for(const Plan& plan, std::uint64_t bytes);

/// What the variant claims for a call. Vectors of f32 out of place have `claim_apart` where there is one, but
/// for the elements behind the last whole row of every class, which are worked on in place like vectors of 16
/// bits; then it is the rms of both.
CallClaim claim_for(const Variant& variant, const Call& call);

}  // namespace cerar::runtime
