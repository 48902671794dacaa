#pragma once

#include <functional>
#include <string>

#include "tuner/check/findings.h"
#include "tuner/check/rebuilt_plan.h"

namespace cerar::tuner {

/// Runs each variant between threads of this process: exact sums on whole numbers, coded ones on independent
/// normal vectors, in place and, where there is a claim for that, out of place. There the measured error must
/// be between half of the claim and 1.2 times the claim.
void check_runs(const RebuiltPlan& rebuilt, const std::function<void(const std::string&)>& progress,
                Findings& findings);

}  // namespace cerar::tuner
