#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// The directory of a plan with one variant, with host kernels and with cubins for sm_80: real ones where
/// this build has NVRTC, else files of the same form, which the stand-in for the driver takes as well.
std::string device_plan(runtime::Construction construction, int workers, int components, int lanes = 2,
                        runtime::Wire wire = runtime::Wire::f32);

/// The same, for sizes in bytes up to `baseline_up_to` of which the plan finds the baseline faster.
std::string device_plan_with_baseline(int workers, std::uint64_t baseline_up_to);

}  // namespace cerar::test
