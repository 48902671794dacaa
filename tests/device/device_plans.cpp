#include "tests/device/device_plans.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "generator/plan_text.h"
#include "runtime/base/digest.h"
#include "runtime/plan/names.h"
#include "tests/software_gpu/plain_cubin.h"
#include "tests/software_gpu/software_gpu.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void add_plain_cubins(runtime::Plan& plan, const std::filesystem::path& directory) {
  for (auto& variant : plan.variants) {
    std::vector<std::string> entries;
    for (const auto& kernel : variant.kernels) entries.push_back(kernel.entry);
    const std::string cubin = plain_cubin(80, entries);
    const std::string file = fmt::format("kernels/{}.sm_80.cubin", variant.name);
    write(directory / file, cubin);
    variant.artefacts.push_back({"sm_80", file, sha256_hex(cubin)});
  }
  write(directory / "plan.yaml", generator::plan_text(plan));
}

void generate(runtime::Plan& plan, const std::filesystem::path& directory) {
  const bool real = generator::nvrtc_available();
  generator::generate(plan,
                      {.architectures = real ? std::vector<std::string>{"sm_80"} : std::vector<std::string>{},
                       .out = directory});
  if (!real) add_plain_cubins(plan, directory);
}

}  // namespace

std::string device_plan(runtime::Construction construction, int workers, int components, int lanes,
                        runtime::Wire wire) {
  static std::map<std::string, std::string> made;
  const std::string name = fmt::format("device-{}-n{}-c{}-l{}-{}", runtime::name_of(construction), workers,
                                       components, lanes, runtime::name_of(wire));
  auto& directory = made[name];
  if (directory.empty()) {
    runtime::Plan plan = design_plan(construction, workers, components, lanes, wire);
    generate(plan, scratch() / name);
    directory = (scratch() / name).string();
  }
  software_gpu_use(directory.c_str());
  return directory;
}

std::string device_plan_with_baseline(int workers, std::uint64_t baseline_up_to) {
  const auto directory = scratch() / fmt::format("device-baseline-n{}-{}", workers, baseline_up_to);
  runtime::Plan plan = design_plan(runtime::Construction::ring, workers, workers);
  plan.baseline = "NCCL ring";
  plan.baseline_faster = {{.min_bytes = 0, .max_bytes = baseline_up_to}};
  generate(plan, directory);
  software_gpu_use(directory.c_str());
  return directory.string();
}

}  // namespace cerar::test
