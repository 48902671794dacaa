// Plans whose digest is right and whose content is not: the field is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "generator/plan_text.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/plans.h"

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
    {"MissingIdentity",
     "    identical_on_all_ranks: .*\n",
     "",
     {"variants[0]", "lacks the key identical_on_all_ranks"}},
    {"IdentityThatTheCodeLacks",
     "identical_on_all_ranks: false",
     "identical_on_all_ranks: true",
     {"variants[0].identical_on_all_ranks", "is true", "differential", "makes it false"}},
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
    {"ExtendRowMissing",
     "    extend:\n      - .*\n",
     "    extend:\n",
     {"variants[0].extend", "3 entries", "4"}},
    {"ExtendNan",
     "    extend:\n      - \\[[^,]*,",
     "    extend:\n      - [nan,",
     {"variants[0].extend[0][0]", "'nan'"}},
    {"OwnFlat",
     "    own:\n      - \\[\\[[^\\]]*\\]",
     "    own:\n      - [0",
     {"variants[0].own[0][0]", "list"}},
    {"OwnInfinite",
     "    own:\n      - \\[\\[[^,]*,",
     "    own:\n      - [[-inf,",
     {"variants[0].own[0][0][0]", "'-inf'"}},
    {"OwnOfUnusedComponent",
     "    own:\n      - \\[\\[0,",
     "    own:\n      - [[1,",
     {"own[0][0][0] is 1", "must be 0"}},
    {"DecodeRowMissing",
     "    decode:\n.*\n.*\n.*\n",
     "    decode:\n",
     {"variants[0].decode", "3 entries", "4"}},
    {"DecodeNan",
     "    decode:\n      - \\[\\[[^,]*,",
     "    decode:\n      - [[nan,",
     {"variants[0].decode[0][0][0]", "'nan'"}},
    {"DecodeOfUnusedComponent",
     "    decode:\n      - \\[\\[0,",
     "    decode:\n      - [[1,",
     {"decode[0][0][0] is 1", "must be 0"}},
    {"MoreComponentsThanTheTablesAreFor",
     "components: 8\n    classes: 4\n    terms: 2\n    rounds: 10",
     "components: 12\n    classes: 4\n    terms: 3\n    rounds: 14",
     {"decode[0][0][0] is 0", "own sample"}},
    {"TableOfOtherMessages",
     "    open:",
     "    beta: [[[1, 1]]]\n    open:",
     {"variants[0].beta", "does not belong to differential messages"}},
    {"ClaimOfOtherMessages",
     "    predicted:",
     "    errors_out_of_place: {total: 1}\n    predicted:",
     {"variants[0].errors_out_of_place", "does not belong to differential messages"}},
    {"OwnCorrectionDenied", "own_exact: true", "own_exact: false", {"own[0][1][0] is", "own_exact is false"}},
    {"OtherShift", "shift: 0.625", "shift: 0.5", {"shift is 0.5", "4 workers", "0.625"}},
    {"NotANumber", "\\[1, ", "[one, ", {"variants[0].open[0][0]", "'one'"}},
    {"UnknownConstruction",
     "construction: differential",
     "construction: magic",
     {"variants[0].construction", "'magic'", "known are"}},
    {"UnknownMessages",
     "messages: differential",
     "messages: secret",
     {"variants[0].messages", "'secret'", "known are"}},
    {"OtherMessages",
     "messages: differential",
     "messages: sum",
     {"decode", "does not belong to sum messages"}},
    {"UnknownWire", "wire: f32", "wire: f8", {"variants[0].wire", "'f8'", "known are f32, bf16"}},
    {"UnknownType", "data_type: f32", "data_type: f64", {"data_type", "'f64'", "known are f32, bf16, f16"}},
    {"BlocksOfUnknownSize", "wire: f32", "wire: fx16", {"variants[0]", "lacks the key block"}},
    {"BlocksThatNoWarpHolds",
     "    wire: f32\n",
     "    wire: fx16\n    block: 48\n",
     {"block is 48", "32, 64 or 128"}},
    {"BlocksOfFloatingPoint",
     "    wire: f32\n",
     "    wire: f32\n    block: 128\n",
     {"variants[0].block", "does not belong to messages of f32"}},
    {"LinesTooLongForTheWire",
     "wire: f32\n    interleave: 32",
     "wire: bf16\n    interleave: 1024",
     {"interleave is 1024", "at most 512", "bf16"}},
    {"LinesTooShortForAlignedScales",
     "wire: f32\n    interleave: 32",
     "wire: fx12\n    block: 32\n    interleave: 4",
     {"interleave is 4", "at least 8", "fx12"}},
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
    {"KernelsLackARole", "      - role: visit\n.*\n.*\n.*\n", "", {"kernels lacks the role visit"}},
    {"KernelsLackAConversion", "      - role: narrow\n.*\n.*\n.*\n", "", {"kernels lacks the role narrow"}},
    {"BlocksOfHalfAWarp",
     "threads: 256",
     "threads: 48",
     {"variants[0].kernels[0].threads", "48", "multiple of 32"}},
    {"BlocksTooLarge", "threads: 256", "threads: 2048", {"variants[0].kernels[0].threads", "2048"}},
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

// A plain code of three components per class.
class PlainMeaning : public testing::TestWithParam<Edit> {};

TEST_P(PlainMeaning, IsNamed) {
  static const std::string plain = generator::plan_text(design_plan(runtime::Construction::optimized, 4, 12));
  try {
    runtime::parse_plan(edited(plain, GetParam()), "plan.yaml");
    ADD_FAILURE() << "the plan was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    expect_sentence(error.what(), GetParam().words);
  }
}

const Edit kPlainEdits[] = {
    {"BetaChainAdded",
     "    beta:\n",
     "    beta:\n      - [[1, 1, 1]]\n",
     {"variants[0].beta", "2 entries", "1"}},
    {"BetaVisitMissing",
     "    beta:\n      - \\[\\[.*\\],\n *",
     "    beta:\n      - [",
     {"variants[0].beta[0]", "14 entries", "15"}},
    {"BetaTermMissing",
     "    beta:\n      - \\[\\[[^,]*, ",
     "    beta:\n      - [[",
     {"variants[0].beta[0][0]", "2 entries", "3"}},
    {"BetaNan",
     "    beta:\n      - \\[\\[[^,]*",
     "    beta:\n      - [[nan",
     {"variants[0].beta[0][0][0]", "'nan'"}},
    {"BetaInfinite",
     "    beta:\n      - \\[\\[[^,]*",
     "    beta:\n      - [[1e999",
     {"variants[0].beta[0][0][0]", "'1e999'"}},
    {"BetaThatIsNoF32",
     "    beta:\n      - \\[\\[[^,]*",
     "    beta:\n      - [[0.1",
     {"beta[0][0][0] is 0.1", "not exactly an f32"}},
    {"BetaMissing", "    beta:", "    betas:", {"the key betas is not known", "beta"}},
    {"DecodePhaseMissing",
     "    decode:\n.*\n.*\n.*\n",
     "    decode:\n",
     {"variants[0].decode", "3 entries", "4"}},
    {"DecodeNan",
     "    decode:\n      - \\[\\[[^,]*",
     "    decode:\n      - [[nan",
     {"variants[0].decode[0][0][0]", "'nan'"}},
    {"DecodeThatIsNoF32",
     "    decode:\n      - \\[\\[[^,]*",
     "    decode:\n      - [[0.1",
     {"variants[0].decode", "f32"}},
    {"ApartClaimMissing",
     "    errors_out_of_place: .*\n",
     "",
     {"variants[0]", "lacks the key errors_out_of_place"}},
    {"ApartDecoderMissing",
     "    decode_out_of_place:\n(.*\n){12}",
     "",
     {"variants[0]", "lacks the key decode_out_of_place"}},
    {"ApartCorrectionMissing",
     "    own_out_of_place:\n(.*\n){12}",
     "",
     {"variants[0]", "lacks the key own_out_of_place"}},
    {"ApartTablesMissing",
     "    decode_out_of_place:\n(.*\n){25}",
     "",
     {"variants[0]", "lacks the key decode_out_of_place"}},
    {"ApartClaimWithoutAFigure",
     "(errors_out_of_place: .*), noise: [^,]*,",
     "$1,",
     {"variants[0].errors_out_of_place", "lacks the key noise"}},
    {"ApartClaimWithAnotherFigure",
     "(errors_out_of_place: .*), noise: ",
     "$1, noises: 1, noise: ",
     {"the key noises is not known here", "noise_gain"}},
    {"ApartConditionBelowOne",
     "errors_out_of_place: \\{condition: ",
     "errors_out_of_place: {condition: 0.",
     {"variants[0].errors_out_of_place.condition", "0."}},
    {"ApartPhaseMissing",
     "    decode_out_of_place:\n.*\n.*\n.*\n",
     "    decode_out_of_place:\n",
     {"variants[0].decode_out_of_place", "3 entries", "4"}},
    {"ApartDecoderThatIsNoF32",
     "    decode_out_of_place:\n      - \\[\\[[^,]*",
     "    decode_out_of_place:\n      - [[0.1",
     {"variants[0].decode_out_of_place", "f32"}},
    {"ApartCorrectionOfTwoTerms",
     "    own_out_of_place:\n      - \\[\\[[^,]*, ",
     "    own_out_of_place:\n      - [[",
     {"variants[0].own_out_of_place[0][0]", "2 entries", "3"}},
    {"ApartCorrectionNan",
     "    own_out_of_place:\n      - \\[\\[[^,]*",
     "    own_out_of_place:\n      - [[nan",
     {"variants[0].own_out_of_place[0][0][0]", "'nan'"}},
    {"FewerComponentsThanTheTablesAreFor",
     "components: 12\n    classes: 4\n    terms: 3\n    rounds: 14",
     "components: 8\n    classes: 4\n    terms: 2\n    rounds: 10",
     {"variants[0].beta[0]", "15 entries", "11"}},
    {"TableOfOtherMessages",
     "    beta:",
     "    epsilon: 0.1\n    beta:",
     {"variants[0].epsilon", "does not belong to plain"}},
};

INSTANTIATE_TEST_SUITE_P(Edited, PlainMeaning, testing::ValuesIn(kPlainEdits),
                         [](const auto& info) { return std::string(info.param.name); });

// Plans of before, and those of codes that have none, hold nothing for calls out of place.
TEST(TablesApart, MayBeAbsent) {
  runtime::Plan plan = design_plan(runtime::Construction::optimized, 4, 12);
  auto& variant = plan.variants[0];
  variant.claim_out_of_place.reset();
  auto& tables = std::get<runtime::PlainTables>(variant.tables);
  tables.decode_out_of_place.clear();
  tables.own_out_of_place.clear();
  const auto parsed = runtime::parse_plan(generator::plan_text(plan), "plan.yaml");
  EXPECT_FALSE(parsed.variants[0].claim_out_of_place);
  EXPECT_TRUE(std::get<runtime::PlainTables>(parsed.variants[0].tables).decode_out_of_place.empty());
}

void expect_unfit(const runtime::Plan& plan, const std::vector<std::string>& words) {
  try {
    runtime::check_plan(plan);
    ADD_FAILURE() << "the plan was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    expect_sentence(error.what(), words);
  }
}

TEST(TablesApart, StandTogetherOrNotAtAll) {
  const runtime::Plan intact = design_plan(runtime::Construction::optimized, 4, 12);
  runtime::Plan plan = intact;
  plan.variants[0].claim_out_of_place.reset();
  expect_unfit(plan, {"optimized-c12", "decode_out_of_place", "without errors_out_of_place"});
  plan = intact;
  std::get<runtime::PlainTables>(plan.variants[0].tables).decode_out_of_place.clear();
  expect_unfit(plan, {"optimized-c12", "decode_out_of_place has 0 numbers", "36"});
  plan = intact;
  std::get<runtime::PlainTables>(plan.variants[0].tables).own_out_of_place.pop_back();
  expect_unfit(plan, {"optimized-c12", "own_out_of_place has 35 numbers", "36"});
  plan = intact;
  std::get<runtime::PlainTables>(plan.variants[0].tables).own_out_of_place[7] =
      std::numeric_limits<float>::infinity();
  expect_unfit(plan, {"optimized-c12", "own_out_of_place", "not finite"});
}

TEST(TablesApart, AreForApproximateCodesOfFewTerms) {
  for (const auto& [construction, components] :
       {std::pair{runtime::Construction::optimized, 20}, std::pair{runtime::Construction::unimodular, 3}}) {
    runtime::Plan plan = design_plan(construction, 4, components);
    auto& variant = plan.variants[0];
    EXPECT_FALSE(variant.claim_out_of_place);
    auto& tables = std::get<runtime::PlainTables>(variant.tables);
    tables.decode_out_of_place = tables.own_out_of_place = tables.decode;
    variant.claim_out_of_place = variant.claim;
    expect_unfit(
        plan, {variant.name, "decode_out_of_place", "at most 4 terms", "c = " + std::to_string(components)});
  }
  runtime::Plan plan = design_plan(runtime::Construction::differential, 4, 8);
  plan.variants[0].claim_out_of_place = plan.variants[0].claim;
  expect_unfit(plan, {"differential-c8", "errors_out_of_place", "differential messages"});
}

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
