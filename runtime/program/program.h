#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>

/// What CERAR's programs have in common.
namespace cerar::program {

/// The wall of a program: parses its command line, to which it adds --version, runs `body`, and returns the
/// exit code. What is thrown becomes one line on standard error, which begins with the name of `app`: 1 for
/// an error or for output that was lost, 2 for a command line that cannot be parsed. Where the reader of
/// standard output has gone, 1 without a word. Everything runs with a stack of `kStackBytes` at least, and so
/// do the threads made meanwhile.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// What compilers and the linear algebra need, whatever `ulimit -s` says.
inline constexpr std::size_t kStackBytes = std::size_t{8} << 20;

}  // namespace cerar::program
