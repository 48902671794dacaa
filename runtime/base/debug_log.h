#pragma once

#include <fmt/format.h>

#include <string_view>

namespace cerar {

/// The log that CERAR_DEBUG=info asks for: what is used and what goes wrong, a line for each, "cerar HOST:PID
/// rank R: ...", to stderr or the file of CERAR_DEBUG_FILE. It is off by default, and then costs a look at a
/// flag. Each line is written at once, so that those of many threads and processes stay whole.
bool debug_log_is_on() noexcept;

/// The rank that lines of the calling thread name from now on; none below 0.
void set_debug_rank(int rank) noexcept;

/// One line, at most PIPE_BUF bytes of it, which pipes take whole; control characters as \xHH.
void write_debug_line(std::string_view text) noexcept;

/// A log's functions. There is one log in a process: the libraries beside libcerar (api/sibling.h) have this
/// code as well, and write with libcerar's.
struct DebugLog {
  bool (*is_on)() noexcept;
  void (*set_rank)(int rank) noexcept;
  void (*write)(std::string_view text) noexcept;
};
const DebugLog& own_debug_log() noexcept;
/// From now on the functions above are those of `log`, which stays.
void use_debug_log(const DebugLog& log) noexcept;

template <typename... Arguments>
void debug_log(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  if (!debug_log_is_on()) return;
  try {
    write_debug_line(fmt::format(format, std::forward<Arguments>(arguments)...));
  } catch (...) {  // without memory there is no line
  }
}

}  // namespace cerar
