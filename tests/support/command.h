#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cerar::test {

/// Where a standard stream of a command leads to. What is not captured is not in the result.
enum class Stream {
  captured,
  full,    ///< a device without room
  closed,  ///< no descriptor
  broken,  ///< a pipe that no one reads
};

struct CommandOptions {
  std::filesystem::path directory = ".";        ///< the command's working directory
  std::vector<std::string> environment = {};    ///< "NAME=value", in addition to this process's own
  std::chrono::milliseconds time_limit{60000};  ///< SIGKILL when it is over
  std::optional<std::chrono::microseconds> kill_after = {};  ///< SIGKILL at this moment, wherever it stands
  std::size_t memory_limit = 0;                              ///< bytes of address space; 0: no limit
  std::vector<std::pair<int, std::size_t>> limits = {};      ///< RLIMIT_..., soft and hard
  Stream out = Stream::captured, err = Stream::captured;
};

struct CommandResult {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal = 0;      ///< 0 when it exited by itself
  bool timed_out = false;
  std::string out, err;
};

/// Runs a program (a path) with its arguments, stdin empty, and waits for it. Throws std::system_error when
/// it cannot be started.
CommandResult run_command(const std::vector<std::string>& words, const CommandOptions& options = {});

}  // namespace cerar::test
