#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace cerar::test {

/// A command that must be refused: its arguments, and what its one sentence must name.
struct RefusedCase {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> words;
};
void PrintTo(const RefusedCase& refused, std::ostream* out);

/// A new empty directory of this test process for each call; `label` only helps people.
std::filesystem::path fresh_directory(const std::string& label);

/// Relative paths of everything below a directory, ascending.
std::vector<std::string> entries_below(const std::filesystem::path& directory);

/// Runs the program in `directory`, with temporary files in a folder of their own, which must be empty
/// afterwards unless the program was killed.
CommandResult run_in(const std::filesystem::path& directory, const std::string& program,
                     const std::vector<std::string>& arguments, CommandOptions options = {});

/// Exit code not 0, nothing on stdout, and on stderr one line: program name, sentence, all of `words`.
void expect_refusal(const CommandResult& result, const std::vector<std::string>& words);

/// A sentence of an error on one line, naming all of `words`.
void expect_sentence(const std::string& sentence, const std::vector<std::string>& words);

/// Runs a command that must be refused and that must leave `directory` as it was.
void expect_refused(const std::filesystem::path& directory, const std::string& program,
                    const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                    const CommandOptions& options = {});

}  // namespace cerar::test
