// make_plan DIR CONSTRUCTION WORKERS COMPONENTS LANES WIRE BASELINE_BYTES: a plan of one variant with host
// kernels, cubins for sm_80 and PTX: real ones where this build has NVRTC, else files of the same form, which
// the stand-in for the driver takes as well. A program of its own, because NVRTC looks for a driver in its
// process.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "generator/plan_text.h"
#include "runtime/base/digest.h"
#include "runtime/plan/kernel_spec.h"
#include "runtime/plan/names.h"
#include "tests/software_gpu/plain_cubin.h"
#include "tests/support/plans.h"

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void add_plain_cubins(cerar::runtime::Plan& plan, const std::filesystem::path& directory) {
  for (auto& variant : plan.variants) {
    std::vector<std::string> entries;
    for (const auto& kernel : variant.kernels) entries.push_back(kernel.entry);
    const std::string cubin = plain_cubin(80, entries, cerar::runtime::kernel_mark(variant));
    const std::string file = fmt::format("kernels/{}.sm_80.cubin", variant.name);
    write(directory / file, cubin);
    variant.artefacts.push_back({"sm_80", file, cerar::sha256_hex(cubin)});
    const std::string ptx = plain_ptx(80, entries) + "// " + cerar::runtime::kernel_mark(variant) + "\n",
                      ptx_file = fmt::format("kernels/{}.compute_80.ptx", variant.name);
    write(directory / ptx_file, ptx);
    variant.artefacts.push_back({"compute_80", ptx_file, cerar::sha256_hex(ptx)});
  }
  write(directory / "plan.yaml", cerar::generator::plan_text(plan));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  try {
    cerar::runtime::Construction construction{};
    cerar::runtime::Wire wire{};
    if (!cerar::runtime::from_name(argv[2], construction) || !cerar::runtime::from_name(argv[6], wire))
      return 2;
    auto plan = cerar::test::design_plan(construction, std::atoi(argv[3]), std::atoi(argv[4]),
                                         std::atoi(argv[5]), wire);
    if (const auto bytes = std::strtoull(argv[7], nullptr, 10)) {
      plan.baseline = "NCCL ring";
      plan.baseline_faster = {{.min_bytes = 0, .max_bytes = bytes}};
    }
    const bool real = cerar::generator::nvrtc_available();
    cerar::generator::generate(plan, {.architectures = real ? std::vector<std::string>{"sm_80", "compute_80"}
                                                            : std::vector<std::string>{},
                                      .out = argv[1]});
    if (!real) add_plain_cubins(plan, argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_plan: %s\n", error.what());
    return 1;
  }
  return 0;
}
