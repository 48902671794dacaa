#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar::test {

struct CommandOptions {
  std::filesystem::path directory = ".";        ///< the command's working directory
  std::vector<std::string> environment = {};    ///< "NAME=value", in addition to this process's own
  std::chrono::milliseconds time_limit{60000};  ///< SIGKILL when it is over
  std::optional<std::chrono::microseconds> kill_after = {};  ///< SIGKILL at this moment, wherever it stands
  std::size_t memory_limit = 0;                              ///< bytes of address space; 0: no limit
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
