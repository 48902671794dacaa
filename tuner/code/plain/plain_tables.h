#pragma once

#include <optional>

#include "runtime/plan/plan.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

struct PlainDesign {
  runtime::PlainTables tables;
  runtime::ErrorClaim claim;
  std::optional<runtime::ErrorClaim> claim_out_of_place;  ///< where the tables hold decode_out_of_place
};

/// What the kernels run, from a code: increments rounded to f32, the decoder solved for the rounded code,
/// brought to the basis of runtime/plan/plan.h and rounded to f32; the claim is that of the rounded tables.
/// Where runtime::can_decode_out_of_place, also the own-exact decoder of the same code for calls out of
/// place, with the correction of what its rounded table makes of the rank's own vector. The code's drift
/// stays the best one in place: the claim that every call keeps is what a budget is compared with, and it
/// costs calls out of place 0.2 % at N = 16, 1 % at N = 8 and 5 % at N = 4 of their error.
PlainDesign plain_design(const PlainCode& code, double nu);

/// The claim, recomputed from tables alone; `plain_design` takes its own from here, so both agree to the bit.
/// Throws `invalid_plan` when the tables do not have the size that the shape asks for.
runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::PlainTables& tables, double nu);

/// The same for calls out of place; nothing where the tables hold no decode_out_of_place.
std::optional<runtime::ErrorClaim> out_of_place_claim_of(const runtime::Shape& shape,
                                                         const runtime::PlainTables& tables, double nu);

/// The decoder that an f32 table stands for, `tables.decode` or `tables.decode_out_of_place`, on the samples
/// themselves.
Decoder effective_decoder(const runtime::Shape& shape, const std::vector<float>& decode);

}  // namespace cerar::tuner
