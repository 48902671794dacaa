#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

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

}  // namespace cerar::tuner
