#pragma once

#include "runtime/plan/plan.h"
#include "tuner/code/plain/decoder.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

struct PlainDesign {
  runtime::PlainTables tables;
  runtime::ErrorClaim claim;
};

/// What the kernels run, from a code: increments rounded to f32, the decoder solved for the rounded code,
/// brought to the basis of runtime/plan/plan.h and rounded to f32; the claim is that of the rounded tables.
PlainDesign plain_design(const PlainCode& code, double nu);

/// The claim, recomputed from tables alone; `plain_design` takes its own from here, so both agree to the bit.
/// Throws `invalid_plan` when the tables do not have the size that the shape asks for.
runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::PlainTables& tables, double nu);

/// The decoder that the f32 table stands for, on the samples themselves.
Decoder effective_decoder(const runtime::Shape& shape, const runtime::PlainTables& tables);

}  // namespace cerar::tuner
