// Plans that are missing, truncated or altered: `show` and `check` refuse them, and so does loading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/small_stack.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

/// `check` may find more than the refusal, and says so on more lines.
void expect_check_names(const std::string& plan, const std::vector<std::string>& words) {
  const auto result = run_in(fresh_directory("damage"), CERAR_TUNE, {"check", plan});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::MatchesRegex("(cerar-tune: [^\n]*\\.\n)+"));
  for (const std::string& word : words) EXPECT_THAT(result.err, testing::HasSubstr(word));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("holds what it claims")));
}

void expect_both_refuse(const std::string& plan, const std::vector<std::string>& words) {
  const auto directory = fresh_directory("damage");
  expect_refused(directory, CERAR_TUNE, {"show", plan}, words);
  expect_refused(directory, CERAR_TUNE, {"show", "--json", plan}, words);
  expect_check_names(plan, words);
}

void expect_text_refused(const std::string& text, const std::vector<std::string>& words) {
  const auto plan = copy_of(intact_plan());
  write_text(plan / "plan.yaml", text);
  expect_both_refuse(plan.string(), words);
}

/// The error of parse_plan; the test fails when there is none.
std::string parse_error(const std::string& text) {
  try {
    runtime::parse_plan(text, "plan.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan) << error.what();
    return error.what();
  }
  return "";
}

std::string intact_text() { return read_text(intact_plan() / "plan.yaml"); }

TEST(Damage, MissingDirectory) {
  expect_both_refuse("nowhere", {"nowhere/plan.yaml does not exist", "cerar-tune"});
}

TEST(Damage, NoPlanGiven) {
  expect_refused(fresh_directory("damage"), CERAR_TUNE, {"show"}, {"plan", "--help"});
  expect_refused(fresh_directory("damage"), CERAR_TUNE, {"check"}, {"plan", "--help"});
}

TEST(Damage, DirectoryWithoutPlan) {
  const auto directory = fresh_directory("damage");
  expect_both_refuse(directory.string(), {directory.string() + "/plan.yaml does not exist"});
}

TEST(Damage, FileInsteadOfDirectory) {
  const auto file = fresh_directory("damage") / "plan";
  write_text(file, "format: cerar-plan/2\n");
  expect_both_refuse(file.string(), {file.string(), "does not exist"});
}

TEST(Damage, PlanFileIsADirectory) {
  const auto plan = fresh_directory("damage");
  fs::create_directory(plan / "plan.yaml");
  expect_both_refuse(plan.string(), {"plan.yaml is a directory"});
}

TEST(Damage, EmptyFile) { expect_text_refused("", {"plan.yaml", "digest is missing"}); }

TEST(Damage, Binary) {
  expect_text_refused(std::string("\x7f"
                                  "ELF\0\1\2\3",
                                  8),
                      {"plan.yaml", "digest is missing"});
}

TEST(Damage, SecondDocument) {
  for (const auto* added : {"---\nworkers: 9\n", "---\n"})
    expect_text_refused(
        with_digest(replaced(intact_text(), "\ndigest:", std::string("\n") + added + "digest:")),
        {"plan.yaml:", "a second document begins here; keep one of them"});
}

TEST(Damage, TruncatedInTheMiddle) {
  const std::string text = intact_text();
  expect_text_refused(text.substr(0, text.find("\n", text.size() / 2)),
                      {"plan.yaml", "digest is missing", "truncated"});
}

TEST(Damage, TruncatedWithinTheDigest) {
  const std::string text = intact_text();
  expect_text_refused(text.substr(0, text.size() - 10), {"plan.yaml", "does not match its digest", "again"});
}

TEST(Damage, TruncatedAtEveryOffset) {
  const std::string text = intact_text();
  // The last line break alone may go.
  for (std::size_t length = 0; length + 1 < text.size();
       length += length < 600 || length + 80 > text.size() ? 1 : 13)
    EXPECT_NE(parse_error(text.substr(0, length)), "") << "cut to " << length << " bytes";
}

TEST(Damage, LoadingWithoutTheLastLineBreakStillWorks) {
  const std::string text = intact_text();
  EXPECT_EQ(parse_error(text.substr(0, text.size() - 1)), "");
}

TEST(Damage, OneDigitChanged) {
  expect_text_refused(replaced(intact_text(), "max_error: 1", "max_error: 2"),
                      {"plan.yaml", "does not match its digest", "altered"});
}

TEST(Damage, AnyDigitChanged) {
  const std::string text = intact_text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    std::string altered = text;
    altered[i] = altered[i] == '9' ? '0' : static_cast<char>(altered[i] + 1);
    EXPECT_NE(parse_error(altered), "") << "digit at " << i;
  }
}

TEST(Damage, OneKeyRemoved) {
  expect_text_refused(replaced(intact_text(), "workers: 4\n", ""),
                      {"plan.yaml", "does not match its digest"});
}

TEST(Damage, CheckNamesWhatIsWrongWhateverTheDigestSays) {
  const auto plan = copy_of(intact_plan());
  write_text(plan / "plan.yaml", replaced(intact_text(), "workers: 4\n", ""));
  expect_check_names(plan.string(), {"does not match its digest", "lacks the key workers"});
}

TEST(Damage, CommentAdded) { expect_text_refused("# mine\n" + intact_text(), {"does not match its digest"}); }

TEST(Damage, DigestRemoved) {
  const std::string text = intact_text();
  expect_text_refused(text.substr(0, text.rfind("digest: ")), {"plan.yaml", "digest is missing"});
}

TEST(Damage, SomethingAfterTheDigest) {
  expect_text_refused(intact_text() + "more: 1\n", {"plan.yaml", "does not match its digest"});
}

TEST(Damage, DigestOfUpperCase) {
  std::string text = intact_text();
  for (std::size_t i = text.rfind("digest: ") + 8; i < text.size(); ++i)
    text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
  expect_text_refused(text, {"plan.yaml", "does not match its digest"});
}

TEST(Damage, NewerFormatIsNamedBeforeAnythingElse) {
  expect_text_refused(replaced(intact_text(), "format: cerar-plan/2", "format: cerar-plan/3"),
                      {"plan.yaml:2", "format", "'cerar-plan/3'", "cerar-plan/2"});
}

TEST(Damage, NoFormat) {
  expect_text_refused(with_digest(replaced(intact_text(), "format: cerar-plan/2\n", "")),
                      {"plan.yaml", "lacks the key format"});
}

TEST(Damage, MalformedYaml) {
  expect_text_refused(with_digest(replaced(intact_text(), "variants:", "variants: ]")),
                      {"plan.yaml:", "malformed YAML"});
}

// Refused by its digest alone, whatever it would cost to read.
TEST(Damage, ALargeDamagedTextIsRefusedAtOnce) {
  std::string rows;
  while (rows.size() < (std::size_t{8} << 20)) rows += "      - [0.125, 0.25, 0.5, 0.75]\n";
  std::string text = intact_text();
  text.insert(text.find("    extend:"), rows);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(parse_error(text), testing::HasSubstr("does not match its digest"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(Damage, MoreThanAPlanCanHoldIsRefusedUnread) {
  const auto plan = copy_of(intact_plan());
  fs::resize_file(plan / "plan.yaml", std::uintmax_t{1} << 40);  // of zeros that take no space
  expect_both_refuse(plan.string(), {"plan.yaml", "holds more than", "bytes"});
}

// Whoever wrote it made the digest fit. On a small stack, which what recurses without limit would leave.
TEST(Damage, DeeplyNestedTextIsRefusedOnASmallStack) {
  for (const std::string& level :
       {std::string("["), std::string("{a: "), std::string("- "), std::string("? ")}) {
    std::string text = "format: cerar-plan/2\nworkers:\n  ";
    for (int i = 0; i < 100000; ++i) text += level;
    text = with_digest(text + "\ndigest: \n");
    std::string error;
    on_small_stack(128, [&] { error = parse_error(text); });
    EXPECT_THAT(error, testing::HasSubstr("nested deeper than 32 levels")) << level;
  }
}

TEST(Damage, MissingSourceIsNamedByCheck) {
  const auto plan = copy_of(intact_plan());
  fs::remove(plan / "kernels" / "differential-c8.cu");
  expect_check_names(plan.string(), {"kernels/differential-c8.cu is missing"});
}

TEST(Damage, AlteredSourceIsNamedByCheck) {
  const auto plan = copy_of(intact_plan());
  const auto file = plan / "kernels" / "differential-c8.cu";
  write_text(file, read_text(file) + " ");
  expect_check_names(plan.string(), {"kernels/differential-c8.cu does not match its SHA-256"});
}

}  // namespace
}  // namespace cerar::test
