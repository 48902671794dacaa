// What gpu-check-kernels makes of conversions that are wrong in packs of four alone. Hosts take single
// elements, so their builds are told to take packs here.
#include "tests/gpu/check_kernels/conversions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "generator/compile/host_compiler.h"
#include "generator/specialise/specialise.h"
#include "runtime/base/temporary_directory.h"
#include "tests/software_gpu/plain_cubin.h"
#include "tests/software_gpu/software_gpu.h"
#include "tests/unit/generator/variants.h"

namespace cerar::test {
namespace {

struct Edit {
  std::string from, to;
};
const Edit kInPacks = {"return CERAR_GPU && a.vector_width == 4", "return a.vector_width == 4"};
const Edit kWidensInAnotherOrder = {"cerar_from_half<Bf16>(halves.at[i])",
                                    "cerar_from_half<Bf16>(halves.at[3 - i])"};
const Edit kNarrowsThree = {"for (int i = 0; i < 4; ++i) halves.at[i]",
                            "for (int i = 0; i < 3; ++i) halves.at[i]"};

/// Failures that the check reports for kernels of this source.
int failures(const std::vector<Edit>& edits) {
  const auto spec = generator::make_kernel_spec(random_variant("sum", 4, 1));
  std::string source = generator::specialise(spec);
  for (const auto& edit : edits) {
    const auto at = source.find(edit.from);
    EXPECT_NE(at, std::string::npos) << edit.from;
    if (at != std::string::npos) source.replace(at, edit.from.size(), edit.to);
  }
  const TemporaryDirectory directory;
  const auto library = directory.path() / "kernels.so";
  std::ofstream(library, std::ios::binary) << generator::compile_host(source, generator::host_target());
  const std::string widen = "cerar_" + spec.prefix + "_widen", narrow = "cerar_" + spec.prefix + "_narrow";
  const std::string plan = (directory.path() / "plan").string();
  const std::string cubin = plain_plan(plan, "edited", 80, {widen, narrow}, library.string());
  software_gpu_reset();  // forgets kernels of the same name
  EXPECT_EQ(software_gpu_use(plan.c_str()), 1);

  const auto device = std::make_shared<const runtime::Device>(0);
  const runtime::OnDevice current(*device);
  const runtime::DeviceStream stream(device);
  const runtime::DeviceModule module(device, cubin, "edited");
  runtime::DeviceKernelTable kernels{};
  for (const auto& [role, name] : {std::pair{runtime::Role::widen, widen}, {runtime::Role::narrow, narrow}}) {
    auto& kernel = kernels[static_cast<std::size_t>(role)];
    kernel.function = module.function(name);
    kernel.threads = 128;
    kernel.resident_blocks = 8;
  }
  Report report;
  const int before = report.failures();
  EXPECT_GT(check_conversions(device, stream.get(), kernels, "edited", report), 0u);
  return report.failures() - before;
}

TEST(Conversions, RightOnesPass) {
  EXPECT_EQ(failures({}), 0);
  EXPECT_EQ(failures({kInPacks}), 0);
}

TEST(Conversions, BrokenPacksAreFound) {
  EXPECT_EQ(failures({kWidensInAnotherOrder}), 0) << "single elements are right";
  EXPECT_EQ(failures({kInPacks, kWidensInAnotherOrder}), 2);  // bf16 and f16
  EXPECT_EQ(failures({kInPacks, kNarrowsThree}), 2);
}

}  // namespace
}  // namespace cerar::test
