#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/plan/plan.h"
#include "tuner/check/findings.h"

namespace cerar::tuner {

/// A plan directory as it is, damaged or not.
struct InspectedPlan {
  runtime::Plan plan;
  std::filesystem::path directory;
  std::map<std::string, std::optional<std::string>> files;  ///< bytes by `Artefact::file`; absent: nothing
};

/// Reads every file once. What is wrong with plan.yaml is a difference; where it cannot be read at all, there
/// is no plan. Throws `invalid_plan` where there is no plan directory and `system` for files that the system
/// does not let be read.
std::optional<InspectedPlan> inspect_plan(const std::filesystem::path& directory, Findings& findings);

/// The row of `files` for the kernel source, or null.
const runtime::Artefact* source_of(const runtime::Variant& variant);

/// Every file is there and has the SHA-256 that the plan lists. Compiled files may be absent, as a fact:
/// the source is what they are compiled from.
void check_files(const InspectedPlan& inspected, Findings& findings);

}  // namespace cerar::tuner
