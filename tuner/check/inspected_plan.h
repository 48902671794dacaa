#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::tuner {

/// What a check found.
struct Findings {
  std::vector<std::string> differences;  ///< one sentence each; empty when the plan holds what it claims
  std::vector<std::string> facts;        ///< what was compared and measured, or could not be

  /// `name` is the variant's.
  template <typename... Arguments>
  void differ(const std::string& name, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    differences.push_back(
        fmt::format("{}: {}.", name, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  template <typename... Arguments>
  void note(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    facts.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }
};

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
