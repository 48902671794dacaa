#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

/// The standard streams of CERAR's programs. What is printed is written at once, and what cannot be written
/// is an error: a result that a full disk swallowed must not look like success.
namespace cerar::program {

/// Call it first of all. Standard streams that are closed are opened so that using them fails, for otherwise
/// the next file to be opened would take their number and the output with it. A reader that has gone and a
/// limit on file sizes are reported by the writing call, rather than end the program by a signal.
void prepare_streams();

/// Writes to standard output, all of it. Throws `system` with the operating system's reason.
void print_text(std::string_view text);

template <typename... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  print_text(fmt::format(format, std::forward<T>(arguments)...));
}

/// Writes to standard error. What cannot be written there cannot be reported either: finish_streams knows it.
void complain(std::string_view text) noexcept;

/// Has the reader of standard output gone (a broken pipe)? Such a program ends without a word.
bool reader_is_gone() noexcept;

/// Call it last, from the thread that calls nothing behind it: what file systems report only when a file is
/// closed. Throws `system` as print_text does; false where a line for standard error was lost.
bool finish_streams();

}  // namespace cerar::program
