#include "tests/negative/refusal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/plans.h"

namespace cerar::test {

namespace fs = std::filesystem;

void PrintTo(const RefusedCase& refused, std::ostream* out) { *out << refused.name; }

fs::path fresh_directory(const std::string& label) {
  static int number = 0;
  const fs::path directory = scratch() / fmt::format("{}-{}", label, number++);
  fs::create_directory(directory);
  return directory;
}

std::vector<std::string> entries_below(const fs::path& directory) {
  std::vector<std::string> entries;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    entries.push_back(fs::relative(entry.path(), directory).string());
  std::sort(entries.begin(), entries.end());
  return entries;
}

CommandResult run_in(const fs::path& directory, const std::string& program,
                     const std::vector<std::string>& arguments, CommandOptions options) {
  const fs::path temporary = fresh_directory("tmp");
  options.directory = directory;
  options.environment.push_back("TMPDIR=" + temporary.string());
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  CommandResult result = run_command(words, options);
  EXPECT_FALSE(result.timed_out);
  if (result.signal == 0) {
    EXPECT_THAT(entries_below(temporary), testing::IsEmpty()) << "temporary files are left behind";
  }
  return result;
}

void expect_sentence(const std::string& sentence, const std::vector<std::string>& words) {
  EXPECT_FALSE(sentence.empty());
  EXPECT_EQ(sentence.find_first_of("\r\n\t"), std::string::npos) << sentence;
  for (const std::string& word : words) EXPECT_THAT(sentence, testing::HasSubstr(word));
}

void expect_refusal(const CommandResult& result, const std::vector<std::string>& words) {
  EXPECT_EQ(result.signal, 0);
  EXPECT_THAT(result.exit_code, testing::AnyOf(1, 2));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, testing::MatchesRegex("cerar-(tune|bench): .*[.)]\n"));
  expect_sentence(result.err.substr(0, result.err.find('\n')), words);
}

void expect_refused(const fs::path& directory, const std::string& program,
                    const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                    const CommandOptions& options) {
  const auto before = entries_below(directory);
  expect_refusal(run_in(directory, program, arguments, options), words);
  EXPECT_EQ(entries_below(directory), before) << "something is left behind";
}

}  // namespace cerar::test
