#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tuner/check/findings.h"

namespace cerar::tuner {

/// Regression test of a plan directory: recomputes every claim from the code tables and every prediction from
/// its topology, specialises and compiles the kernels again and compares sources, registers and spills, and
/// runs each variant between threads to compare the measured error with the claim. Binaries need not be
/// there; where they are, they must be those that the plan lists. A digest that does not fit is one
/// difference, and so is a plan.yaml that cannot be read as a plan. Throws where there is no plan.yaml.
Findings check_plan(const std::filesystem::path& directory,
                    const std::function<void(const std::string&)>& progress);

}  // namespace cerar::tuner
