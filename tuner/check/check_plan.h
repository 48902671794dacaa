#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/plan/plan.h"
#include "tuner/check/inspected_plan.h"

namespace cerar::tuner {

/// Recomputes each variant's error claim from its tables, and compares the budget with it.
void check_claims(const runtime::Plan& plan, Findings& findings);

/// Recomputes predicted times and what the topology decides about the execution. Only against the very
/// topology that the plan was made for, which must be one that this build knows; else a fact says so.
void check_predictions(const runtime::Plan& plan, Findings& findings);

/// Regression test of a plan directory: recomputes every claim from the code tables and every prediction from
/// its topology, specialises and compiles the kernels again and compares sources, registers and spills, and
/// runs each variant between threads to compare the measured error with the claim. Binaries need not be
/// there; where they are, they must be those that the plan lists. A digest that does not fit is one
/// difference, and so is a plan.yaml that cannot be read as a plan. Throws where there is no plan.yaml.
Findings check_plan(const std::filesystem::path& directory,
                    const std::function<void(const std::string&)>& progress);

}  // namespace cerar::tuner
