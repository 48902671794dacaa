#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/specialise/specialise.h"
#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "tests/unit/generator/variants.h"

namespace cerar::generator {
namespace {

using ::testing::HasSubstr;

class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_available()) GTEST_SKIP() << "this build has no NVRTC";
  }

  static std::string source_of(const char* family, int workers, int terms) {
    return specialise(make_kernel_spec(test::random_variant(family, workers, terms)));
  }
};

int count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

/// PTX of the kernel of one role; empty where there is none.
std::string kernel_ptx(const std::string& ptx, const std::string& role) {
  const std::size_t begin = ptx.find("_" + role + "(");
  return begin == std::string::npos ? "" : ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

TEST_F(Nvrtc, KernelsStayInRegisters) {
  const std::vector<std::pair<const char*, int>> cases = {
      {"sum", 1}, {"plain", 2}, {"plain", 3}, {"plain", 4}, {"differential", 8}, {"differential", 32}};
  for (const auto& [family, terms] : cases) {
    for (const char* architecture : {"sm_80", "sm_90"}) {
      const Cubin cubin = compile_cubin(source_of(family, 8, terms), architecture);
      EXPECT_EQ(cubin.bytes.substr(1, 3), "ELF");
      EXPECT_EQ(cubin.kernels.size(), roles(family).size());
      for (const CompiledKernel& kernel : cubin.kernels) {
        EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry << " on " << architecture;
        EXPECT_LE(kernel.registers, 64) << kernel.entry << " on " << architecture;
        EXPECT_GT(kernel.registers, 0) << kernel.entry << " on " << architecture;
      }
    }
  }
}

// What kMostOutOfPlaceTerms allows: the samples, the own components and a message under conversion in one
// thread.
TEST_F(Nvrtc, DecodingBesideTheOwnVectorStaysInRegisters) {
  for (const auto& [wire, components] : {std::pair{runtime::Wire::bf16, 8 * runtime::kMostOutOfPlaceTerms},
                                         std::pair{runtime::Wire::fx12, 8 * runtime::kMostOutOfPlaceTerms},
                                         std::pair{runtime::Wire::fx12, 12}}) {  // two chains
    runtime::Variant variant = test::random_plain(8, components);
    ASSERT_TRUE(variant.claim_out_of_place);
    variant.wire = wire;
    const std::string source = specialise(make_kernel_spec(variant));
    for (const char* architecture : {"sm_80", "sm_90"})
      for (const CompiledKernel& kernel : compile_cubin(source, architecture).kernels) {
        EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry << " on " << architecture;
        EXPECT_LE(kernel.registers, 72) << kernel.entry << " on " << architecture;  // three blocks of 256
      }
  }
}

TEST_F(Nvrtc, DenseKernelsHoldAllLinesInRegisters) {
  for (const int components : {3, 12, 15, 128}) {
    const Cubin cubin =
        compile_cubin(specialise(make_kernel_spec(test::random_plain(8, components))), "sm_80");
    for (const CompiledKernel& kernel : cubin.kernels) {
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry;
      EXPECT_LE(kernel.registers, 64) << kernel.entry;
    }
  }
  // 63 lines and the tables of eight phases, too large for constant memory.
  const std::string source = specialise(make_kernel_spec(test::random_plain(8, 63)));
  for (const CompiledKernel& kernel : compile_cubin(source, "sm_90").kernels) {
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry;
    EXPECT_LE(kernel.registers, 128) << kernel.entry;
  }
}

TEST_F(Nvrtc, DenseKernelsReadEachElementOnce) {
  // Single elements, since packs of 4 would not fit: r loads and the message, r stores of slots and those of
  // early symbols and message, whatever the number of coefficients.
  const int terms = 15;
  const std::string ptx = compile_ptx(specialise(make_kernel_spec(test::random_plain(8, terms))), "sm_80");
  const std::string code = kernel_ptx(ptx, "decode");
  // Two kernels in one: with a next round and without; two parts each share the code.
  EXPECT_EQ(count(code, R"(ld\.global\.f32)"), 2 * (terms + 1));
  EXPECT_EQ(count(ptx, R"(\.local)"), 0);
  EXPECT_GT(count(code, R"(ld\.const)"), 0);
}

TEST_F(Nvrtc, ReportsSpills) {
  // A kernel with more live values than registers: shows that the report is read and not merely zero.
  const std::string source = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) greedy(float* data) {
  float value[96];
  for (int i = 0; i < 96; ++i) value[i] = data[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 96; ++i) value[i] = value[i] * value[(i * 7 + 5) % 96] + 1.0f;
  for (int i = 0; i < 96; ++i) data[i * 1024 + threadIdx.x] = value[i];
})";
  const Cubin cubin = compile_cubin(source, "sm_80");
  ASSERT_EQ(cubin.kernels.size(), 1u);
  EXPECT_EQ(cubin.kernels[0].entry, "greedy");
  EXPECT_GT(cubin.kernels[0].spill_bytes, 0);
}

TEST_F(Nvrtc, AccessesAre128BitAndCoherent) {
  for (const auto& [family, terms] :
       {std::pair{"sum", 1}, std::pair{"plain", 3}, std::pair{"differential", 8}}) {
    const std::string ptx = compile_ptx(source_of(family, 8, terms), "sm_80");
    EXPECT_GT(count(ptx, R"(ld\.global\.v4)"), 0) << family;
    EXPECT_GT(count(ptx, R"(st\.global\.v4)"), 0) << family;
    // Buffers that a peer writes, or that change in place, must not go through the read-only cache. The
    // tables of coefficients may, one number at a time.
    EXPECT_EQ(count(ptx, R"(ld\.global\.nc\.v[24])"), 0) << family;
    for (const std::string& role : roles(family)) {
      const std::string code = kernel_ptx(ptx, role);
      if (role == "widen" || role == "narrow") {  // between f32 and 16 bits, in packs or not
        EXPECT_GT(count(code, R"([ls][dt]\.global\.v4\.f32)"), 0) << role;
        EXPECT_GT(count(code, R"([ls][dt]\.global\.v4\.u16)"), 0) << role;
        continue;
      }
      // Each kernel holds the same code for packs of 4 and for single elements: every access must have
      // widened.
      EXPECT_EQ(count(code, R"(ld\.global\.v4\.f32)"), count(code, R"(ld\.global\.f32)")) << role;
      EXPECT_EQ(count(code, R"(st\.global\.v4\.f32)"), count(code, R"(st\.global\.f32)")) << role;
      EXPECT_GT(count(code, R"(st\.global\.v4\.f32)"), 0) << role;
      const bool has_tables = family != std::string("sum");
      if (!has_tables) {
        EXPECT_EQ(count(code, R"(ld\.global\.nc)"), 0) << role;
      }
    }
    EXPECT_EQ(count(ptx, R"(\.local)"), 0) << family;
  }
}

TEST_F(Nvrtc, NarrowMessagesAreConvertedInRegisters) {
  using runtime::Wire;
  struct Case {
    Wire wire;
    bool blocks;
    const char* access;  // of four elements of a message
  };
  for (const Case& wire :
       {Case{Wire::bf16, false, R"(ld\.global\.v4\.u16)"}, Case{Wire::f16, false, R"(ld\.global\.v4\.u16)"},
        Case{Wire::fx16, true, R"(ld\.global\.v4\.u16)"}, Case{Wire::fx12, true, R"(ld\.global\.u32)"},
        Case{Wire::fx8, true, R"(ld\.global\.v4\.u8)"}})
    for (const auto& [family, terms] :
         {std::pair{"sum", 1}, std::pair{"plain", 3}, std::pair{"differential", 8}}) {
      auto variant = test::random_variant(family, 8, terms);
      variant.wire = wire.wire;
      const std::string source = specialise(make_kernel_spec(variant));
      const std::string what = std::string(family) + " in " + std::string(runtime::name_of(wire.wire));
      const std::string ptx = compile_ptx(source, "sm_80");
      EXPECT_EQ(count(ptx, R"(\.local)"), 0) << what;
      EXPECT_GT(count(ptx, wire.access), 0) << what;
      EXPECT_GT(count(ptx, R"(ld\.global\.v4\.f32)"), 0) << what;
      EXPECT_EQ(count(ptx, R"(ld\.global\.nc\.v[24])"), 0) << what;
      // The largest of a block is found by its warp, in registers.
      EXPECT_EQ(count(ptx, R"(shfl\.sync)") > 0, wire.blocks) << what;
      EXPECT_EQ(count(ptx, R"(bar\.sync)"), 0) << what;
      for (const CompiledKernel& kernel : compile_cubin(source, "sm_90").kernels) {
        EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry << ", " << what;
        EXPECT_LE(kernel.registers, 72) << kernel.entry << ", " << what;
      }
    }
}

TEST_F(Nvrtc, SumsCompileToCopyAndAdd) {
  const std::string products = R"((mul|fma|mad)\.(rn\.)?f32)";
  EXPECT_EQ(count(compile_ptx(source_of("sum", 8, 1), "sm_80"), products), 0);
  EXPECT_GT(count(compile_ptx(source_of("plain", 8, 2), "sm_80"), products), 0);
}

TEST_F(Nvrtc, PtxKeepsMarksAsText) {
  const std::string source =
      "#define CERAR_MARK(text) extern \"C\" __device__ const char mark[sizeof(text)] = text\n"
      "CERAR_MARK(\"made for 0123\");\nextern \"C\" __global__ void k(float* a) { a[0] = 1; }\n";
  EXPECT_EQ(compile_cubin(source, "sm_80").bytes.find("made for 0123") == std::string::npos, false);
  const std::string ptx = compile_ptx(source, "compute_80");
  EXPECT_THAT(ptx, ::testing::EndsWith("\n// made for 0123\n"));
  EXPECT_THAT(ptx, HasSubstr(".entry k("));
}

TEST_F(Nvrtc, IsReproducible) {
  const std::string source = source_of("plain", 4, 2);
  EXPECT_EQ(compile_cubin(source, "sm_80").bytes, compile_cubin(source, "sm_80").bytes);
}

TEST_F(Nvrtc, RefusesUnknownArchitecturesAndBadSource) {
  const auto known = supported_architectures();
  EXPECT_THAT(known, ::testing::Contains("sm_80"));
  try {
    compile_cubin(source_of("sum", 4, 1), "sm_999");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("sm_999"));
    for (const std::string& name : known) EXPECT_THAT(error.what(), HasSubstr(name));
  }
  try {
    compile_cubin("extern \"C\" __global__ void broken() { missing(); }", "sm_80");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    EXPECT_THAT(error.what(), HasSubstr("missing"));
  }
}

TEST(NvrtcAbsent, SaysSo) {
  if (nvrtc_available()) GTEST_SKIP() << "this build has NVRTC";
  EXPECT_TRUE(supported_architectures().empty());
  EXPECT_THROW(compile_cubin("", "sm_80"), Error);
}

}  // namespace
}  // namespace cerar::generator
