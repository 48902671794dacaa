#include "tuner/check/rebuilt_plan.h"

#include <algorithm>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "runtime/base/processor.h"

namespace cerar::tuner {

std::set<std::string> architectures_of(const runtime::Plan& plan) {
  std::set<std::string> architectures;
  for (const auto& variant : plan.variants)
    for (const auto& artefact : variant.artefacts)
      if (artefact.target != "source" && artefact.target != "host") architectures.insert(artefact.target);
  return architectures;
}

RebuiltPlan rebuild_plan(const runtime::Plan& plan, const std::filesystem::path& out) {
  RebuiltPlan rebuilt{.plan = plan, .directory = out, .run_bytes = {}};
  std::vector<std::string> architectures;
  for (const auto& architecture : architectures_of(plan))
    if (generator::can_compile_for(architecture)) architectures.push_back(architecture);
  std::uint64_t next = 0;
  for (auto& variant : rebuilt.plan.variants) {
    // Rows enough for the statistics, and a tail that does not divide.
    const std::uint64_t row =
        static_cast<std::uint64_t>(variant.shape.components * variant.interleave) * sizeof(float);
    const std::uint64_t rows = std::max<std::uint64_t>(3, 65536 / row);
    variant.min_bytes = next;
    variant.max_bytes = std::max(next, rows * row) + 3 * sizeof(float);
    next = variant.max_bytes + 1;
    rebuilt.run_bytes.push_back(variant.max_bytes);
    variant.kernels.clear();
    variant.artefacts.clear();
  }
  rebuilt.plan.variants.back().max_bytes = runtime::ByteRange{}.max_bytes;
  // For the plan's own processor, where this one runs it.
  const std::string target = processor_problem(plan.host_target) ? std::string() : plan.host_target;
  generator::generate(rebuilt.plan, {.architectures = architectures, .host_target = target, .out = out});
  return rebuilt;
}

}  // namespace cerar::tuner
