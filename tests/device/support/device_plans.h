#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// The directory of a plan with one variant, with host kernels and with cubins for sm_80 and PTX for later
/// ones, known to the stand-in for the driver; made on first use. Up to `baseline_bytes` bytes the plan finds
/// the baseline faster.
std::string device_plan(runtime::Construction construction, int workers, int components, int lanes = 2,
                        runtime::Wire wire = runtime::Wire::f32, std::uint64_t baseline_bytes = 0);

}  // namespace cerar::test
