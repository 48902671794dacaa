// Plans whose digest is right and whose content is not: the field is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

struct Edit {
  const char* name;
  const char* from;  ///< a regular expression; its first match is replaced
  const char* to;
  std::vector<std::string> words;
};
void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

std::string edited(const std::string& text, const Edit& edit) {
  const std::string result =
      std::regex_replace(text, std::regex(edit.from), edit.to, std::regex_constants::format_first_only);
  EXPECT_NE(result, text) << edit.from << " is not in the plan";
  return with_digest(result);
}

class Meaning : public testing::TestWithParam<Edit> {};

TEST_P(Meaning, IsNamed) {
  const std::string text = edited(read_text(intact_plan() / "plan.yaml"), GetParam());
  try {
    runtime::parse_plan(text, "plan.yaml");
    ADD_FAILURE() << "the plan was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    expect_sentence(error.what(), GetParam().words);
    expect_sentence(error.what(), {"plan.yaml"});
  }
}

const Edit kEdits[] = {
    {"UnknownKey", "workers: 4", "workers: 4\nworker: 4", {"worker "}},
    {"UnknownVariantKey", "    lanes: 2", "    lanes: 2\n    lane: 2", {"lane ", "lanes"}},
    {"ConstructionOfOtherMessages",
     "construction: differential",
     "construction: ring",
     {"construction is ring", "differential"}},
    {"MissingWorkers", "workers: 4\n", "", {"lacks the key workers"}},
    {"MissingVariants", "variants:[^$]*digest", "digest", {"lacks the key variants"}},
    {"NoVariants", "variants:[^$]*digest", "variants: []\ndigest", {"variants is empty"}},
    {"VariantsNotAList", "variants:[^$]*digest", "variants: 3\ndigest", {"variants", "list"}},
    {"MissingErrors", "    errors: .*\n", "", {"variants[0]", "lacks the key errors"}},
    {"MissingOneError", ", noise: [^,]*,", ",", {"variants[0].errors", "lacks the key noise"}},
    {"MissingTable", "    open:\n(      - .*\n){4}", "", {"variants[0]", "lacks the key open"}},
    {"RowMissing", "    open:\n      - .*\n", "    open:\n", {"variants[0].open", "3 entries", "4"}},
    {"ColumnMissing", "\\[1, ", "[", {"variants[0].open[0]", "2 entries", "3"}},
    {"ColumnAdded", "\\[1, ", "[1, 1, ", {"variants[0].open[0]", "4 entries", "3"}},
    {"NumberForARow", "      - \\[1, [^\n]*", "      - 1", {"variants[0].open[0]", "list"}},
    {"Nan", "\\[1, ", "[nan, ", {"variants[0].open[0][0]", "'nan'", "finite"}},
    {"YamlNan", "\\[1, ", "[.nan, ", {"variants[0].open[0][0]", "'.nan'", "finite"}},
    {"Infinite", "\\[1, ", "[inf, ", {"variants[0].open[0][0]", "'inf'", "finite"}},
    {"NotAnF32", "\\[1, ", "[0.1, ", {"variants[0].open", "f32"}},
    {"BeyondF32", "\\[1, ", "[1e300, ", {"variants[0].open", "f32"}},
    {"NotANumber", "\\[1, ", "[one, ", {"variants[0].open[0][0]", "'one'"}},
    {"UnknownConstruction",
     "construction: differential",
     "construction: magic",
     {"variants[0].construction", "'magic'", "known are"}},
    {"UnknownMessages",
     "messages: differential",
     "messages: secret",
     {"variants[0].messages", "'secret'", "known are"}},
    {"OtherMessages", "messages: differential", "messages: sum", {"messages is sum", "8 components"}},
    {"UnknownWire", "wire: f32", "wire: f8", {"variants[0].wire", "'f8'", "known are f32"}},
    {"UnknownType", "data_type: f32", "data_type: f64", {"data_type", "'f64'", "known are f32"}},
    {"TermsThatDoNotFollow", "terms: 2", "terms: 3", {"variants[0].terms", "3", "8 components", "2"}},
    {"ClassesThatDoNotFollow", "classes: 4", "classes: 2", {"variants[0].classes", "2", "8 components", "4"}},
    {"RoundsThatDoNotFollow", "rounds: 10", "rounds: 9", {"variants[0].rounds", "9", "8 components", "10"}},
    {"NoComponents", "components: 8", "components: 0", {"variants[0].components", "0"}},
    {"HugeComponents", "components: 8", "components: 9999999999", {"variants[0].components", "9999999999"}},
    {"OtherWorkers", "workers: 4", "workers: 8", {"variants[0].classes"}},
    {"NoWorkers", "workers: 4", "workers: 0", {"workers", "0", "1..4096"}},
    {"FirstRangeStartsLate", "min: 0", "min: 4", {"bytes.min is 4", "must be 0"}},
    {"LastRangeEnds", "max: unbounded", "max: 4096", {"bytes.max", "4096", "unbounded"}},
    {"RangeTurnedAround", "\\{min: 0, max: unbounded\\}", "{min: 8, max: 4}", {"bytes runs from 8 to 4"}},
    {"RangeAsAWord", "min: 0", "min: none", {"variants[0].bytes.min", "'none'"}},
    {"BaselineRangeTurnedAround",
     "baseline_faster: \\[\\]",
     "baseline_faster: [{min: 9, max: 4}]",
     {"baseline_faster", "9", "4"}},
    {"InterleaveThree", "interleave: 32", "interleave: 3", {"variants[0].interleave", "3"}},
    {"InterleaveNotAPowerOfTwo", "interleave: 32", "interleave: 24", {"interleave is 24", "power of two"}},
    {"NoLanes", "lanes: 2", "lanes: 0", {"variants[0].lanes", "0"}},
    {"KernelsLackARole", "      - role: visit\n.*\n.*\n", "", {"kernels lacks the role visit"}},
    {"KernelWithoutEntry",
     "        entry: cerar_differential_c8_visit\n",
     "",
     {"variants[0].kernels[1]", "lacks the key entry"}},
    {"FileAboveThePlan",
     "kernels/differential-c8.host.so",
     "../differential-c8.host.so",
     {"variants[0].files[1].file", "'../differential-c8.host.so'", "inside"}},
    {"FileDeepAboveThePlan",
     "kernels/differential-c8.host.so",
     "kernels/../../x.so",
     {"variants[0].files[1].file", "'kernels/../../x.so'", "inside"}},
    {"AbsoluteFile",
     "kernels/differential-c8.host.so",
     "/tmp/x.so",
     {"variants[0].files[1].file", "'/tmp/x.so'", "inside"}},
    {"VariantNameThatIsAPath", "name: \"differential-c8\"", "name: \"a/b\"", {"'a/b'", "plain word"}},
    {"NegativeEpsilon", "epsilon: ", "epsilon: -", {"variants[0].epsilon"}},
    {"NoEpsilon", "epsilon: .*", "epsilon: 0", {"variants[0].epsilon", "0"}},
    {"ShiftOutOfRange", "shift: 0.625", "shift: 2", {"variants[0].shift", "2"}},
    {"OwnExactMaybe", "own_exact: true", "own_exact: maybe", {"variants[0].own_exact", "'maybe'"}},
    {"NegativeError", "approximation: ", "approximation: -", {"variants[0].errors.approximation", "-"}},
    {"ConditionBelowOne", "condition: 1", "condition: 0", {"variants[0].errors.condition"}},
    {"NegativeTime", "fixed_us: ", "fixed_us: -", {"variants[0].predicted.fixed_us", "-"}},
    {"DuplicateKey", "workers: 4", "workers: 4\nworkers: 4", {"workers", "twice"}},
};

INSTANTIATE_TEST_SUITE_P(Edited, Meaning, testing::ValuesIn(kEdits),
                         [](const auto& info) { return std::string(info.param.name); });

// The text of one variant twice.
std::string twice(const std::string& text, const std::string& first_range, const std::string& second_range,
                  const std::string& second_name) {
  const std::size_t begin = text.find("  - name:"), end = text.rfind("digest: ");
  const std::string variant = text.substr(begin, end - begin);
  const auto with = [&](const std::string& range, const std::string& name) {
    return replaced(replaced(variant, "{min: 0, max: unbounded}", range), "name: \"differential-c8\"",
                    "name: " + name);
  };
  return with_digest(text.substr(0, begin) + with(first_range, "first") + with(second_range, second_name) +
                     text.substr(end));
}

void expect_pair_refused(const std::string& first, const std::string& second, const std::string& name,
                         const std::vector<std::string>& words) {
  try {
    runtime::parse_plan(twice(read_text(intact_plan() / "plan.yaml"), first, second, name), "plan.yaml");
    ADD_FAILURE() << "the plan was accepted";
  } catch (const Error& error) {
    expect_sentence(error.what(), words);
  }
}

TEST(TwoVariants, ThatJoinAreAccepted) {
  EXPECT_NO_THROW(runtime::parse_plan(twice(read_text(intact_plan() / "plan.yaml"), "{min: 0, max: 99}",
                                            "{min: 100, max: unbounded}", "second"),
                                      "plan.yaml"));
}

TEST(TwoVariants, WithAGapBetweenThem) {
  expect_pair_refused("{min: 0, max: 99}", "{min: 101, max: unbounded}", "second",
                      {"second", "bytes.min is 101", "must be 100"});
}

TEST(TwoVariants, ThatOverlap) {
  expect_pair_refused("{min: 0, max: 99}", "{min: 99, max: unbounded}", "second",
                      {"second", "bytes.min is 99", "must be 100"});
}

TEST(TwoVariants, InTheWrongOrder) {
  expect_pair_refused("{min: 100, max: unbounded}", "{min: 0, max: 99}", "second",
                      {"first", "bytes.min is 100", "must be 0"});
}

TEST(TwoVariants, BothUnbounded) {
  expect_pair_refused("{min: 0, max: unbounded}", "{min: 0, max: unbounded}", "second",
                      {"second follows", "bytes.max", "unbounded"});
}

TEST(TwoVariants, OfTheSameName) {
  expect_pair_refused("{min: 0, max: 99}", "{min: 100, max: unbounded}", "first",
                      {"two variants", "first", "differ"});
}

}  // namespace
}  // namespace cerar::test
