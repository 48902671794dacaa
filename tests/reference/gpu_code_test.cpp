// What GPUs would run of the reference plans: PTX of every kernel, and its machine code where nvdisasm is
// installed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "generator/compile/nvrtc_compiler.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/plan.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

std::vector<std::filesystem::path> sources() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CERAR_REFERENCE_PLANS))
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int count(std::string_view text, std::string_view word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// The code of each kernel, by its entry, of a text in which `before` entry `after` begins one.
std::vector<std::pair<std::string, std::string>> kernels_in(const std::string& text,
                                                            const std::string& before,
                                                            const std::string& after) {
  std::vector<std::pair<std::string, std::string>> kernels;
  for (std::size_t at = text.find(before); at != std::string::npos;) {
    const std::size_t name = at + before.size(), next = text.find(before, name);
    kernels.emplace_back(text.substr(name, text.find(after, name) - name), text.substr(at, next - at));
    at = next;
  }
  return kernels;
}

bool converts(const std::string& entry) { return entry.ends_with("_widen") || entry.ends_with("_narrow"); }

class GpuCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!generator::nvrtc_available()) GTEST_SKIP() << "this build has no NVRTC";
  }
};

TEST_F(GpuCode, EveryKernelMoves16BytesAtATime) {
  int kernels = 0;
  for (const auto& path : sources()) {
    SCOPED_TRACE(path.filename().string());
    const std::string ptx = generator::compile_ptx(read_file(path), "sm_80");
    EXPECT_EQ(count(ptx, ".local"), 0);
    for (const auto& [entry, code] : kernels_in(ptx, ".visible .entry ", "(")) {
      ++kernels;
      // Vectors and messages change while a call runs; the read-only path might serve what they were. Tables
      // of coefficients do not.
      EXPECT_EQ(count(code, "ld.global.nc.v"), 0) << entry;
      EXPECT_GT(count(code, "st.global.v4.") + count(code, "ld.global.v4."), 0) << entry;
      if (converts(entry)) continue;
      // The same code twice: for packs of four, and for single elements where a vector is not aligned.
      EXPECT_GE(count(code, "ld.global.v4.f32"), count(code, "ld.global.f32")) << entry;
      EXPECT_GE(count(code, "st.global.v4.f32"), count(code, "st.global.f32")) << entry;
    }
  }
  EXPECT_GT(kernels, 100);
}

// As recorded; `cerar-tune check` compiles the kernels again and compares.
TEST(GpuCodeRecorded, KernelsStayWithin64RegistersWithoutSpills) {
  static const std::regex use(R"(registers: (\d+), spill_bytes: (\d+))");
  int kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CERAR_REFERENCE_PLANS)) {
    if (!entry.is_directory()) continue;
    const std::string text = read_file(entry.path() / "plan.yaml");
    for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at, ++kernels) {
      EXPECT_LE(std::stoi((*at)[1]), 64) << entry.path().filename();
      EXPECT_EQ(std::stoi((*at)[2]), 0) << entry.path().filename();
    }
  }
  EXPECT_GT(kernels, 100);
}

TEST_F(GpuCode, MachineCodeKeepsWhatThePtxSays) {
  if (std::string_view(CERAR_NVDISASM).empty()) GTEST_SKIP() << "nvdisasm is not installed";
  const TemporaryDirectory directory;
  int kernels = 0;  // of a cubin: sections of code
  for (const auto& path : sources()) {
    SCOPED_TRACE(path.filename().string());
    const auto cubin = directory.path() / "kernels.cubin";
    std::ofstream(cubin, std::ios::binary) << generator::compile_cubin(read_file(path), "sm_80").bytes;
    const auto listing = run_command({CERAR_NVDISASM, "-c", cubin.string()});
    ASSERT_EQ(listing.exit_code, 0) << listing.err;
    for (const auto& [entry, code] : kernels_in(listing.out, "\n.text.", ":")) {
      ++kernels;
      EXPECT_EQ(count(code, " LDL") + count(code, " STL"), 0) << entry << " uses local memory";
      EXPECT_EQ(count(code, "LDG.E.128.CONSTANT") + count(code, "LDG.E.64.CONSTANT"), 0)
          << entry << " reads vectors as constants";
      EXPECT_GT(count(code, "LDG.E.128 ") + count(code, "STG.E.128 "), 0) << entry;
      if (converts(entry)) continue;
      EXPECT_GE(count(code, "LDG.E.128 "), count(code, "LDG.E ")) << entry;
      EXPECT_GE(count(code, "STG.E.128 "), count(code, "STG.E ")) << entry;
    }
  }
  EXPECT_GT(kernels, 100);
}

}  // namespace
}  // namespace cerar::test
