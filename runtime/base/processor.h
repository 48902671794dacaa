#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cerar {

/// What host kernels are compiled for, ascending: the levels of the x86-64 ABI, "x86-64" (v1), "x86-64-v2",
/// "x86-64-v3" and "x86-64-v4", each of which runs what is for the ones before; on other architectures
/// "generic-<architecture>" alone.
std::vector<std::string> processor_targets();

/// The highest of them that this processor runs.
std::string processor_target();

/// Nothing where this processor runs what is compiled for `target`; else why not, with both names, in the
/// words that follow "host kernels".
std::optional<std::string> processor_problem(const std::string& target);

}  // namespace cerar
