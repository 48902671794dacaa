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

template <typename... Arguments>
void debug_log(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  if (!debug_log_is_on()) return;
  try {
    write_debug_line(fmt::format(format, std::forward<Arguments>(arguments)...));
  } catch (...) {  // without memory there is no line
  }
}

}  // namespace cerar
