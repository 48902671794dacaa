#pragma once

#include <filesystem>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// A directory of this test process, removed when it exits.
const std::filesystem::path& scratch();

/// One variant for all sizes: c divides N for Construction::ring, else c is a multiple of N. Optimised for
/// f32 messages.
runtime::Plan design_plan(runtime::Construction construction, int workers, int components, int lanes = 2);

/// The directory of that plan, generated on first use (host kernels only).
std::string plan_directory(runtime::Construction construction, int workers, int components, int lanes = 2);

}  // namespace cerar::test
