// Plans that the runtime must refuse, through the C API: damaged files, foreign libraries, other numbers of
// ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/api/cerar.h"
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
  EXPECT_EQ(cerarCommInitLocal(comms.data(), ranks, plan, 1000), expected);
  expect_sentence(cerarGetLastError(), words);
  EXPECT_THAT(comms, testing::Each(nullptr));
  cerarPlanFree(plan);
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
  edit_plan(plan, [](const std::string& text) { return replaced(text, "cerar-plan/1", "cerar-plan/2"); });
  expect_load_refused(plan, {"plan.yaml:2", "format", "cerar-plan/2", "cerar-plan/1"});
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
  edit_artefact(plan, kLibrary, [](const std::string&) { return "#!/bin/sh\n"; });
  expect_init_refused(plan, 2, cerarInvalidPlan, {kLibrary, "cannot be opened"});
}

TEST(Library, LacksTheSizeOfParameters) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return read_text(CERAR_WITHOUT_SIZE); });
  expect_init_refused(plan, 2, cerarInvalidPlan, {kLibrary, "cerar_visit_arguments_size", "cerar-tune"});
}

TEST(Library, TakesOtherParameters) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return read_text(CERAR_OTHER_SIZE); });
  expect_init_refused(plan, 2, cerarInvalidPlan, {kLibrary, "12345 bytes", "this runtime", "cerar-tune"});
}

TEST(Library, LacksAKernel) {
  const auto plan = copy_of(exact_plan());
  edit_artefact(plan, kLibrary, [](const std::string&) { return read_text(CERAR_RIGHT_SIZE); });
  expect_init_refused(plan, 2, cerarInvalidPlan, {kLibrary, "lacks the symbol cerar_ring_c2_", "cerar-tune"});
}

TEST(Library, HasAnotherNameForItsKernel) {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) {
    return replaced(text, "entry: cerar_ring_c2_begin", "entry: cerar_ring_c2_start");
  });
  expect_init_refused(plan, 2, cerarInvalidPlan, {kLibrary, "cerar_ring_c2_start"});
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

TEST(Ranks, FewerThanThePlans) {
  expect_init_refused(intact_plan(), 3, cerarInvalidPlan, {"4 workers", "3 ranks", "cerar-tune --workers 3"});
}

TEST(Ranks, MoreThanThePlans) {
  expect_init_refused(exact_plan(), 3, cerarInvalidPlan, {"2 workers", "3 ranks", "cerar-tune --workers 3"});
}

}  // namespace
}  // namespace cerar::test
