#pragma once

#include <string>

#include "tuner/check/files.h"
#include "tuner/check/findings.h"
#include "tuner/check/rebuilt_plan.h"

namespace cerar::tuner {

/// Compares kernel sources byte for byte, roles and entries, and what the GPU compiler reports: no spills,
/// and registers within a tenth of those recorded.
void check_kernels(const InspectedPlan& inspected, const RebuiltPlan& rebuilt, Findings& findings);

/// Where two texts part, for a sentence: "line 12", or "line 12, in the parameter kOpen" where that line of
/// `specialised` gives a parameter of the template its value. The texts must differ.
std::string first_difference(const std::string& recorded, const std::string& specialised);

}  // namespace cerar::tuner
