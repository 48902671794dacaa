#include "tests/negative/plan_edits.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/refusal.h"
#include "tests/support/plans.h"

namespace cerar::test {

namespace fs = std::filesystem;

const fs::path& intact_plan() {
  static const fs::path plan = plan_directory(runtime::Construction::differential, 4, 8);
  return plan;
}

const fs::path& exact_plan() {
  static const fs::path plan = plan_directory(runtime::Construction::ring, 2, 2);
  return plan;
}

std::string read_text(const fs::path& file) { return read_file(file); }

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  ASSERT_TRUE(stream.good()) << file;
}

fs::path copy_of(const fs::path& plan) {
  const fs::path copy = fresh_directory("copy") / "plan";
  fs::copy(plan, copy, fs::copy_options::recursive);
  return copy;
}

std::string with_digest(const std::string& text) {
  const std::size_t line = text.rfind(runtime::kDigestKey);
  if (line == std::string::npos) return text;
  const std::string content = text.substr(0, line);
  return content + runtime::kDigestKey + sha256_hex(content) + "\n";
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "'" << from << "' is not in the text";
  return at == std::string::npos ? text : text.substr(0, at) + to + text.substr(at + from.size());
}

void edit_plan(const fs::path& plan, const TextEdit& edit) {
  const fs::path file = plan / runtime::kPlanFileName;
  write_text(file, with_digest(edit(read_text(file))));
}

void edit_artefact(const fs::path& plan, const std::string& file, const TextEdit& edit) {
  const std::string before = read_text(plan / file), after = edit(before);
  EXPECT_NE(before, after);
  write_text(plan / file, after);
  edit_plan(plan,
            [&](const std::string& text) { return replaced(text, sha256_hex(before), sha256_hex(after)); });
}

}  // namespace cerar::test
