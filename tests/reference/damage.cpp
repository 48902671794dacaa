#include "tests/reference/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "generator/plan_text.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {

namespace fs = std::filesystem;

void PrintTo(DigestLine digest, std::ostream* out) {
  *out << (digest == DigestLine::fits ? "digest fits" : "digest is stale");
}

void alter_text(const fs::path& plan, DigestLine digest,
                const std::function<std::string(const std::string&)>& change) {
  const fs::path file = plan / runtime::kPlanFileName;
  const std::string before = read_text(file), after = change(before);
  ASSERT_NE(before, after) << "nothing was altered";
  const auto stale = before.substr(before.rfind(runtime::kDigestKey));
  write_text(file, digest == DigestLine::fits ? with_digest(after)
                                              : after.substr(0, after.rfind(runtime::kDigestKey)) + stale);
}

void alter_plan(const fs::path& plan, DigestLine digest, const std::function<void(runtime::Plan&)>& change) {
  alter_text(plan, digest, [&](const std::string& text) {
    runtime::Plan parsed = runtime::parse_plan(text, "plan.yaml", runtime::Digest::ignored);
    change(parsed);
    return generator::plan_text(parsed);
  });
}

runtime::Variant& variant_of(runtime::Plan& plan, const std::string& name) {
  for (auto& variant : plan.variants)
    if (variant.name == name) return variant;
  throw std::runtime_error("the plan has no variant " + name);
}

float changed_f32(float value) {
  const float changed = static_cast<float>(value * (1 + 4e-6));
  EXPECT_NE(changed, value);
  EXPECT_NEAR(changed, value, 1e-5 * std::abs(value));
  return changed;
}

std::string with_digit_changed(const std::string& text, const std::string& variant, const std::string& key) {
  const std::size_t begin = text.find("name: \"" + variant + "\""),
                    table = text.find("\n    " + key + ":", begin);
  EXPECT_NE(begin, std::string::npos) << variant;
  EXPECT_NE(table, std::string::npos) << key;
  // Leading zeros are no significant digits.
  static const std::regex number("[-0.]*[1-9][.0-9]{8,}");
  std::smatch match;
  const std::string rest = text.substr(table);
  if (!std::regex_search(rest, match, number)) return text;
  const std::string found = match.str();
  std::size_t at = found.find_first_of("123456789");
  for (int digit = 1; digit < 6; ++digit)
    if (found[++at] == '.') ++at;
  std::string changed = found;
  changed[at] = found[at] == '9' ? '8' : static_cast<char>(found[at] + 1);
  return text.substr(0, table) + match.prefix().str() + changed + match.suffix().str();
}

std::vector<std::string> differences_of(const fs::path& plan) {
  const auto result = run_in(fresh_directory("check"), CERAR_TUNE, {"check", plan.string()});
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("holds what it claims")));
  std::vector<std::string> lines;
  std::istringstream stream(result.err);
  for (std::string line; std::getline(stream, line);) {
    expect_sentence(line, {"cerar-tune: " + plan.string()});
    EXPECT_EQ(line.back(), '.') << line;
    lines.push_back(line);
  }
  EXPECT_FALSE(lines.empty());
  return lines;
}

void expect_line(const std::vector<std::string>& lines, const std::vector<std::string>& words) {
  const bool found = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return std::all_of(words.begin(), words.end(),
                       [&](const std::string& word) { return line.find(word) != std::string::npos; });
  });
  EXPECT_TRUE(found) << "no line holds " << testing::PrintToString(words) << " among "
                     << testing::PrintToString(lines);
}

std::set<std::string> variants_named(const fs::path& plan, const std::vector<std::string>& lines) {
  const std::string prefix = "cerar-tune: " + plan.string() + ": ";
  std::set<std::string> names;
  for (const auto& line : lines)
    names.insert(line.starts_with(prefix)
                     ? line.substr(prefix.size(), line.find(": ", prefix.size()) - prefix.size())
                     : "");
  return names;
}

}  // namespace cerar::test
