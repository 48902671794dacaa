// Plans that the runtime must refuse, through the C API: damaged files, foreign libraries, other numbers of
// ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"
#include "runtime/plan/kernel_spec.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "kernels/ring-c2.host.so";

void expect_load_refused(const fs::path& directory, const std::vector<std::string>& words) {
  cerarPlan_t plan = reinterpret_cast<cerarPlan_t>(&plan);
  EXPECT_EQ(cerarPlanLoad(&plan, directory.c_str()), cerarInvalidPlan);
  EXPECT_EQ(plan, nullptr) << "a failed load must not leave a plan";
  expect_sentence(cerarGetLastError(), words);
}

/// Loads, and communicators for `ranks` are refused; none is written.
void expect_init_refused(const fs::path& directory, int ranks, cerarResult_t expected,
                         const std::vector<std::string>& words) {
  cerarPlan_t plan = nullptr;
  ASSERT_EQ(cerarPlanLoad(&plan, directory.c_str()), cerarSuccess) << cerarGetLastError();
  std::vector<cerarComm_t> comms(static_cast<std::size_t>(ranks), nullptr);
  EXPECT_EQ(cerarCommInitLocal(comms.data(), ranks, plan, TimeLimit(1000)), expected);
  expect_sentence(cerarGetLastError(), words);
  EXPECT_THAT(comms, testing::Each(nullptr));
  cerarPlanFree(plan);
}

/// Bytes that say they were made for the variant of `exact_plan`.
std::string marked(const std::string& bytes) {
  return bytes + runtime::kernel_mark(runtime::load_plan(exact_plan()).variants[0]);
}

TEST(Load, MissingDirectory) {
  expect_load_refused("nowhere", {"nowhere/plan.yaml does not exist", "cerar-tune"});
}

TEST(Load, DirectoryNameWithALineBreak) { expect_load_refused("no\nwhere", {"no\\x0awhere/plan.yaml"}); }

TEST(Load, EmptyDirectoryName) { expect_load_refused("", {"plan.yaml does not exist"}); }

TEST(Load, AlteredPlan) {
  const auto plan = copy_of(exact_plan());
  write_text(plan / "plan.yaml", replaced(read_text(plan / "plan.yaml"), "interleave: 32", "interleave: 64"));
  expect_load_refused(plan, {"plan.yaml", "digest", "altered", "cerar-tune"});
}

TEST(Load, NewerPlan) {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) { return replaced(text, "cerar-plan/2", "cerar-plan/3"); });
  expect_load_refused(plan, {"plan.yaml:2", "format", "cerar-plan/3", "cerar-plan/2"});
}

TEST(Load, MissingLibrary) {
  const auto plan = copy_of(exact_plan());
  fs::remove(plan / kLibrary);
  expect_load_refused(plan, {kLibrary, "missing", "cerar-tune"});
}

TEST(Load, TruncatedLibrary) {
  const auto plan = copy_of(exact_plan());
  fs::resize_file(plan / kLibrary, 1000);
  expect_load_refused(plan, {kLibrary, "SHA-256", "truncated"});
}

TEST(Load, AlteredLibrary) {
  const auto plan = copy_of(exact_plan());
  std::string bytes = read_text(plan / kLibrary);
  bytes[bytes.size() / 2] ^= 1;
  write_text(plan / kLibrary, bytes);
  expect_load_refused(plan, {kLibrary, "SHA-256", "altered"});
}

TEST(Load, LibraryIsADirectory) {
  const auto plan = copy_of(exact_plan());
  fs::remove(plan / kLibrary);
  fs::create_directory(plan / kLibrary);
  cerarPlan_t loaded = nullptr;
  EXPECT_NE(cerarPlanLoad(&loaded, plan.c_str()), cerarSuccess);
  expect_sentence(cerarGetLastError(), {kLibrary, "directory"});
}

TEST(Library, IsNoElfFile) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return marked("#!/bin/sh\n"); });
  expect_load_refused(plan, {kLibrary, "cannot be opened"});
}

// dlopen maps what the file does not hold, and reading it raises SIGBUS.
TEST(Library, IsShorterThanItSays) {
  const auto plan = copy_of(exact_plan());
  const auto half = [](const std::string& bytes) { return marked(bytes.substr(0, bytes.size() / 2)); };
  edit_artefact(plan, kLibrary, half);
  expect_load_refused(plan, {kLibrary, "no whole shared library"});
}

TEST(Library, LacksTheSizeOfParameters) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return marked(read_text(CERAR_WITHOUT_SIZE)); });
  expect_load_refused(plan, {kLibrary, "cerar_visit_arguments_size", "cerar-tune"});
}

TEST(Library, TakesOtherParameters) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return marked(read_text(CERAR_OTHER_SIZE)); });
  expect_load_refused(plan, {kLibrary, "12345 bytes", "this runtime", "cerar-tune"});
}

TEST(Library, LacksAKernel) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return marked(read_text(CERAR_RIGHT_SIZE)); });
  expect_load_refused(plan, {kLibrary, "lacks the symbol cerar_ring_c2_", "cerar-tune"});
}

TEST(Library, DoesNotSayWhatItWasMadeFor) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return read_text(CERAR_RIGHT_SIZE); });
  expect_load_refused(plan, {"ring-c2", kLibrary, "does not say", "cerar-tune"});
}

TEST(Library, IsNotInThePlan) {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) { return replaced(text, "target: host,", "target: sm_80,"); });
  expect_init_refused(plan, 2, cerarUnsupported, {"ring-c2", "no host kernels", "cerar-tune"});
}

TEST(Library, IsForAnotherProcessor) {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) {
    const std::size_t begin = text.find("host_target: "), end = text.find('\n', begin);
    return text.substr(0, begin) + "host_target: \"vax-11\"" + text.substr(end);
  });
  expect_init_refused(plan, 2, cerarUnsupported, {"vax-11", "cerar-tune"});
}

/// A text that is consistent in itself, digest included, and describes other kernels than those in the files.
struct OtherText {
  const char* name;
  const std::filesystem::path& (*plan)();
  const char* from;  ///< a regular expression
  const char* to;
};
void PrintTo(const OtherText& text, std::ostream* out) { *out << text.name; }

class TextOfOtherKernels : public testing::TestWithParam<OtherText> {
 protected:
  /// The edited text is a plan, which no file fits.
  void expect_named(const fs::path& plan, const std::string& file) const {
    edit_plan(plan, [](const std::string& text) {
      const std::string other = std::regex_replace(text, std::regex(GetParam().from), GetParam().to,
                                                   std::regex_constants::format_first_only);
      EXPECT_NE(other, text) << GetParam().from << " is not in the plan";
      return other;
    });
    EXPECT_NO_THROW(runtime::load_plan(plan, runtime::Artefacts::none));
    const std::string variant = fs::path(file).filename().string();
    expect_load_refused(plan,
                        {"variant " + variant, file, "than plan.yaml describes", "run cerar-tune again"});
  }
  static std::string library() {
    return GetParam().plan == exact_plan ? "kernels/ring-c2" : "kernels/differential-c8";
  }
};

TEST_P(TextOfOtherKernels, IsRefusedForHosts) { expect_named(copy_of(GetParam().plan()), library()); }

TEST_P(TextOfOtherKernels, IsRefusedForGpus) {
  const auto plan = copy_of(GetParam().plan());
  edit_plan(plan, [](const std::string& text) { return replaced(text, "target: host,", "target: sm_80,"); });
  cerarPlan_t intact = nullptr;
  ASSERT_EQ(cerarPlanLoad(&intact, plan.c_str()), cerarSuccess) << cerarGetLastError();
  cerarPlanFree(intact);
  expect_named(plan, library());
}

INSTANTIATE_TEST_SUITE_P(
    Edited, TextOfOtherKernels,
    testing::Values(
        OtherText{"Interleave", intact_plan, "interleave: 32", "interleave: 16"},
        OtherText{"InterleaveOfSums", exact_plan, "interleave: 32", "interleave: 64"},
        OtherText{"Wire", intact_plan, "wire: f32", "wire: bf16"},
        OtherText{"WireOfSums", exact_plan, "wire: f32", "wire: fx16\n    block: 128"},
        OtherText{"Components", exact_plan, "components: 2\n    classes: 2\n    terms: 1\n    rounds: 2",
                  "components: 1\n    classes: 1\n    terms: 1\n    rounds: 1"},
        OtherText{"Entry", exact_plan, "cerar_ring_c2_begin", "cerar_ring_c2_start"},
        OtherText{"EntriesOfOtherRoles", exact_plan, "role: begin((.|\\n)*?)role: relay",
                  "role: relay$1role: begin"},
        OtherText{"Coefficient", intact_plan, "    extend:\n      - \\[[^,]*", "    extend:\n      - [0.5"},
        OtherText{"Drift", intact_plan, "epsilon: .*", "epsilon: 0.5"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Ranks, FewerThanThePlans) {
  expect_init_refused(intact_plan(), 3, cerarInvalidPlan, {"4 workers", "3 ranks", "cerar-tune --workers 3"});
}

TEST(Ranks, MoreThanThePlans) {
  expect_init_refused(exact_plan(), 3, cerarInvalidPlan, {"2 workers", "3 ranks", "cerar-tune --workers 3"});
}

}  // namespace
}  // namespace cerar::test
