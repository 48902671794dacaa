#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cerar::tuner {

struct CheckResult {
  std::vector<std::string> differences;  ///< one sentence each; empty when the plan holds what it claims
  std::vector<std::string> facts;        ///< what was compared and measured
};

/// Regression test of a plan directory: recomputes every claim from the code tables and every prediction from
/// its topology, specialises and compiles the kernels again and compares sources, registers and spills, and
/// runs each variant between threads to compare the measured error with the claim. Binaries need not be
/// there. Throws where the plan cannot be read at all.
CheckResult check_plan(const std::filesystem::path& directory,
                       const std::function<void(const std::string&)>& progress);

}  // namespace cerar::tuner
