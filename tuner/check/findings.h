#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace cerar::tuner
