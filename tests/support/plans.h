#pragma once

#include <filesystem>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// A directory of this test process, removed when it exits.
const std::filesystem::path& scratch();

/// One variant for all sizes, made for messages of `wire`, in blocks of `block` where it has blocks.
runtime::Plan design_plan(runtime::Construction construction, int workers, int components, int lanes = 2,
                          runtime::Wire wire = runtime::Wire::f32, int block = 128);

/// The directory of that plan, generated on first use (host kernels only).
std::string plan_directory(runtime::Construction construction, int workers, int components, int lanes = 2,
                           runtime::Wire wire = runtime::Wire::f32, int block = 128);

/// What a variant claims for whole rows of f32, in place or out of place.
const runtime::ErrorClaim& claim_of(const runtime::Variant& variant, bool in_place);

}  // namespace cerar::test
