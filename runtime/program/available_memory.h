#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cerar::program {

/// What ends a program that takes more memory, and how much is left until then.
struct MemoryBound {
  std::string name;     ///< "the memory of this machine"
  std::uint64_t bytes;  ///< that this process may still take
  bool per_process;     ///< other processes have as much of their own; else they take from the same
};

/// The bounds for this process: the machine's memory and swap, the limits of its control groups (v1 and v2),
/// and those of `ulimit`. What the system does not say is left out. `root`: where /proc and /sys are, for
/// tests.
std::vector<MemoryBound> memory_bounds(const std::filesystem::path& root = "/");

/// Processes with equal text take their memory from the same machine and control groups.
std::string memory_domain(const std::filesystem::path& root = "/");

}  // namespace cerar::program
