#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tuner/check/inspected_plan.h"

namespace cerar::tuner {

/// A plan generated again from its tables by this build.
struct RebuiltPlan {
  runtime::Plan plan;  ///< variants in the order of the original
  std::filesystem::path directory;
  std::vector<std::uint64_t> run_bytes;  ///< a vector of this size uses the variant of the same index
};

/// GPU architectures that a plan lists files for.
std::set<std::string> architectures_of(const runtime::Plan& plan);

/// Generates `plan` in `out` for the host and for those of its architectures that this build can compile
/// for. Byte ranges are narrow and small, so that every variant can be run here. Throws what generate throws.
RebuiltPlan rebuild_plan(const runtime::Plan& plan, const std::filesystem::path& out);

/// Compares kernel sources byte for byte, roles and entries, and what the GPU compiler reports: no spills,
/// and registers within a tenth of those recorded.
void check_kernels(const InspectedPlan& inspected, const RebuiltPlan& rebuilt, Findings& findings);

/// Where two texts part, for a sentence: "line 12", or "line 12, in the parameter kOpen" where that line of
/// `specialised` gives a parameter of the template its value. The texts must differ.
std::string first_difference(const std::string& recorded, const std::string& specialised);

}  // namespace cerar::tuner
