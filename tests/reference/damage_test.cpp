// Damage to a copy of a reference plan: `cerar-tune check` names what differs, whether or not whoever did it
// made the digest fit.
#include "tests/reference/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"

namespace cerar::test {
namespace {

const std::filesystem::path kReference = CERAR_REFERENCE;

class Damage : public testing::TestWithParam<DigestLine> {
 protected:
  const std::filesystem::path plan = copy_of(kReference);

  /// Variants of the reference plan with such messages.
  static std::vector<std::string> names_of(runtime::Messages messages) {
    std::vector<std::string> names;
    for (const auto& variant : runtime::load_plan(kReference, runtime::Artefacts::none).variants)
      if (variant.messages == messages) names.push_back(variant.name);
    return names;
  }

  /// One line about the digest where it is stale, none where it fits.
  void expect_digest_line(const std::vector<std::string>& lines) {
    const auto says_so = [](const std::string& line) {
      return line.find("plan.yaml: the content does not match its digest") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), says_so), GetParam() == DigestLine::stale ? 1 : 0)
        << testing::PrintToString(lines);
  }
};

INSTANTIATE_TEST_SUITE_P(Reference, Damage, testing::Values(DigestLine::fits, DigestLine::stale),
                         [](const auto& info) {
                           return info.param == DigestLine::fits ? "DigestFits" : "DigestStale";
                         });

// A check takes seconds: the damages sit in variants of their own, and no line may name another variant.
TEST_P(Damage, CoefficientsFiguresAndKernelLinesAreNamed) {
  const auto coded = names_of(runtime::Messages::differential), exact = names_of(runtime::Messages::sum);
  ASSERT_GE(coded.size(), 4u);
  ASSERT_GE(exact.size(), 3u);
  const auto with_a_comment = [](const std::string& text) { return replaced(text, ";\n", "; // mine\n"); };
  const auto source = [](const std::string& name) { return "kernels/" + name + ".cu"; };
  edit_artefact(plan, source(exact[1]), with_a_comment);
  alter_plan(plan, GetParam(), [&](runtime::Plan& altered) {
    const auto tables = [&](std::size_t i) -> runtime::DifferentialTables& {
      return std::get<runtime::DifferentialTables>(variant_of(altered, coded[i]).tables);
    };
    for (float* entry : {&tables(0).open[3 * 2 + 0], &tables(1).extend[3 * 5 + 0], &tables(2).own[4 * 3 + 2],
                         &tables(3).decode[9 * 7 + 6]})
      *entry = changed_f32(*entry);
    variant_of(altered, exact[0]).claim.condition *= 1 + 4e-6;
    variant_of(altered, exact[0]).prediction.us_per_mib *= 1 + 4e-6;
  });
  write_text(plan / source(exact[2]), with_a_comment(read_text(plan / source(exact[2]))));

  const auto lines = differences_of(plan);
  expect_digest_line(lines);
  const char* const parameters[] = {"kOpen", "kExtend", "kOwn", "kDecode"};
  for (std::size_t i = 0; i < 4; ++i)
    expect_line(lines, {coded[i] + ": " + source(coded[i]) + " differs from the source specialised now",
                        std::string("parameter ") + parameters[i]});
  for (const std::size_t i : {0, 1, 3})
    expect_line(lines, {coded[i] + ": errors.approximation is", "recomputed from the code tables"});
  expect_line(lines, {exact[0] + ": errors.condition is 1.000004", "recomputed from the code tables"});
  expect_line(lines, {exact[0] + ": predicted.us_per_mib is", "recomputed from the topology"});
  for (const std::size_t i : {1, 2})
    expect_line(lines, {exact[i] + ": " + source(exact[i]) + " differs from the source", "first in line"});
  expect_line(lines, {source(exact[2]) + " does not match its SHA-256"});
  EXPECT_THAT(variants_named(plan, lines),
              testing::UnorderedElementsAre("", coded[0], coded[1], coded[2], coded[3], exact[0], exact[1],
                                            exact[2]));
}

// A number that f32 cannot hold is refused before anything is computed.
TEST_P(Damage, CoefficientsThatAreNoF32AreNamed) {
  const std::string name = names_of(runtime::Messages::differential)[1];
  for (const char* key : {"epsilon", "open", "extend", "own", "decode"}) {
    const auto copy = copy_of(kReference);
    alter_text(copy, GetParam(),
               [&](const std::string& text) { return with_digit_changed(text, name, key); });
    const auto lines = differences_of(copy);
    expect_digest_line(lines);
    expect_line(lines, {"]." + std::string(key), "not exactly an f32"});
  }
}

TEST_P(Damage, RemovedAndUnknownKeysAreNamed) {
  const struct {
    const char *from, *to;
    std::vector<std::string> words;
  } kCases[] = {{"workers: 8\n", "", {"lacks the key workers"}},
                {"    lanes: 4\n", "", {"variants[0]", "lacks the key lanes"}},
                {", noise: 0,", ",", {"variants[0].errors", "lacks the key noise"}},
                {"    extend:\n", "    extent:\n", {"key extent is not known", "extend"}},
                {"    wire: f32\n", "    wire: f32\n    colour: red\n", {"key colour is not known"}}};
  for (const auto& removed : kCases) {
    const auto copy = copy_of(kReference);
    alter_text(copy, GetParam(),
               [&](const std::string& text) { return replaced(text, removed.from, removed.to); });
    const auto lines = differences_of(copy);
    expect_digest_line(lines);
    expect_line(lines, removed.words);
  }
}

}  // namespace
}  // namespace cerar::test
