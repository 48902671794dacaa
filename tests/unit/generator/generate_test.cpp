#include "generator/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "generator/compile/nvrtc_compiler.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/kernel_spec.h"
#include "tests/unit/generator/variants.h"

namespace cerar::generator {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::map<std::string, std::string> contents(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) files[entry.path().lexically_relative(root)] = read_file(entry.path());
  return files;
}

std::size_t entries_in(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

class Generate : public ::testing::Test {
 protected:
  GenerateOptions options(bool replace = false) const {
    GenerateOptions options{
        .architectures = {}, .host = true, .out = out, .replace = replace, .progress = {}};
    if (nvrtc_available()) options.architectures = {"sm_80"};
    return options;
  }

  /// The message of the error that generate() throws; also that it leaves the plan alone.
  std::string refusal(const GenerateOptions& options, runtime::Plan plan = test::random_plan(3)) const {
    try {
      generate(plan, options);
    } catch (const Error& error) {
      EXPECT_TRUE(plan.variants[0].artefacts.empty());
      EXPECT_TRUE(plan.host_target.empty());
      return error.what();
    }
    return "(accepted)";
  }

  TemporaryDirectory directory;
  fs::path out = directory.path() / "plan";
};

TEST_F(Generate, WritesAndRecordsEveryFile) {
  runtime::Plan plan = test::random_plan(3);
  std::vector<std::string> progress;
  GenerateOptions with_progress = options();
  with_progress.progress = [&](const std::string& line) { progress.push_back(line); };
  generate(plan, with_progress);

  const std::size_t targets = 2 + with_progress.architectures.size();
  auto files = contents(out);
  EXPECT_EQ(files.size(), 3 * targets + 1);
  EXPECT_EQ(progress.size(), 2 * 3 * targets) << "each begins and ends";
  EXPECT_EQ(entries_in(directory.path()), 1u) << "nothing but the plan is left";
  for (const runtime::Variant& variant : plan.variants) {
    ASSERT_EQ(variant.artefacts.size(), targets);
    EXPECT_EQ(variant.artefacts[0].target, "source");
    EXPECT_EQ(variant.artefacts[1].target, "host");
    for (const runtime::Artefact& artefact : variant.artefacts) {
      EXPECT_EQ(artefact.sha256, sha256_hex(files.at(artefact.file))) << artefact.file;
      EXPECT_THAT(files.at("plan.yaml"), HasSubstr(artefact.sha256));
      EXPECT_EQ(runtime::mark_problem(variant, files.at(artefact.file)).value_or(""), "") << artefact.file;
    }
    for (const runtime::Kernel& kernel : variant.kernels) {
      EXPECT_THAT(files.at(variant.artefacts[0].file), HasSubstr("CERAR_KERNEL " + kernel.entry + "("));
      ASSERT_EQ(kernel.resources.size(), with_progress.architectures.size());
      for (const auto& use : kernel.resources) EXPECT_GT(use.registers, 0);
    }
  }
  EXPECT_THAT(files.at("plan.yaml"), HasSubstr(plan.digest));
  EXPECT_EQ(plan.digest.size(), 64u);
}

TEST_F(Generate, PtxIsAFileWithoutResources) {
  if (!nvrtc_available()) GTEST_SKIP() << "this build has no NVRTC";
  runtime::Plan plan = test::random_plan(3);
  GenerateOptions with_ptx = options();
  with_ptx.architectures = {"sm_80", "compute_80"};
  generate(plan, with_ptx);
  const auto& variant = plan.variants.at(0);
  ASSERT_EQ(variant.artefacts.size(), 4u);
  EXPECT_EQ(variant.artefacts[3].target, "compute_80");
  EXPECT_THAT(variant.artefacts[3].file, testing::EndsWith(".compute_80.ptx"));
  const std::string ptx = contents(out).at(variant.artefacts[3].file);
  EXPECT_THAT(ptx, HasSubstr("\n.target sm_80"));
  EXPECT_EQ(ptx.find('\0'), std::string::npos);
  for (const runtime::Kernel& kernel : variant.kernels) {
    EXPECT_THAT(ptx, HasSubstr(".entry " + kernel.entry + "("));
    ASSERT_EQ(kernel.resources.size(), 1u);
    EXPECT_EQ(kernel.resources[0].target, "sm_80");
  }
  EXPECT_EQ(plan.nvrtc, nvrtc_version());
  EXPECT_THAT(contents(out).at("plan.yaml"), HasSubstr("\nnvrtc: \"" + nvrtc_version() + "\"\n"));
}

TEST_F(Generate, EqualPlansGiveEqualBytes) {
  runtime::Plan first = test::random_plan(3), second = first;
  generate(first, options());
  GenerateOptions elsewhere = options();
  elsewhere.out = directory.path() / "other";
  generate(second, elsewhere);
  EXPECT_EQ(contents(out), contents(elsewhere.out));
}

TEST_F(Generate, ReplacesAPlanOnlyWhenAsked) {
  runtime::Plan plan = test::random_plan(3);
  generate(plan, options());
  const auto before = contents(out);
  EXPECT_THAT(refusal(options()), HasSubstr("already holds a plan"));
  EXPECT_EQ(contents(out), before);

  runtime::Plan other = test::random_plan(2);
  other.variants.resize(1);
  generate(other, options(/*replace=*/true));
  EXPECT_EQ(contents(out).size(), 3 + options().architectures.size()) << "no file of the old plan is left";
  EXPECT_EQ(entries_in(directory.path()), 1u);
}

TEST_F(Generate, AcceptsAnEmptyDirectory) {
  fs::create_directory(out);
  runtime::Plan plan = test::random_plan(3);
  generate(plan, options());
  EXPECT_TRUE(fs::exists(out / "plan.yaml"));
}

TEST_F(Generate, RefusesWhatIsNoPlanDirectory) {
  fs::create_directory(out);
  std::ofstream(out / "thesis.tex") << "irreplaceable";
  EXPECT_THAT(refusal(options(/*replace=*/true)), HasSubstr("not a plan directory"));
  EXPECT_EQ(read_file(out / "thesis.tex"), "irreplaceable");

  GenerateOptions into_a_file = options(/*replace=*/true);
  into_a_file.out = out / "thesis.tex";
  EXPECT_THAT(refusal(into_a_file), HasSubstr("not a plan directory"));
  into_a_file.out = out / "thesis.tex" / "plan";
  EXPECT_THAT(refusal(into_a_file), HasSubstr("thesis.tex"));
}

TEST_F(Generate, NamesAParentThatCannotBeWritten) {
  GenerateOptions orphan = options();
  orphan.out = directory.path() / "missing" / "plan";
  EXPECT_THAT(refusal(orphan), HasSubstr("missing is not a directory"));
  orphan.out = "/proc/cerar-plan";
  EXPECT_THAT(refusal(orphan), HasSubstr("/proc"));
}

TEST_F(Generate, AFailureLeavesNothingBehind) {
  runtime::Plan broken = test::random_plan(3);
  broken.variants[2].interleave = 24;
  EXPECT_THAT(refusal(options(), broken), HasSubstr("power of two"));
  GenerateOptions unknown = options();
  unknown.architectures = {"sm_12345"};
  EXPECT_THAT(refusal(unknown), HasSubstr("sm_12345"));
  runtime::Plan twins = test::random_plan(3);
  twins.variants[1].name = twins.variants[0].name;
  EXPECT_THAT(refusal(options(), twins), HasSubstr("names must differ"));
  twins.variants[1].name = "../escape";
  EXPECT_THAT(refusal(options(), twins), HasSubstr("../escape"));
  EXPECT_EQ(entries_in(directory.path()), 0u);
}

}  // namespace
}  // namespace cerar::generator
