#include "runtime/host/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/base/processor.h"

namespace cerar::runtime {
namespace {

const Artefact& host_library(const Variant& variant) {
  const auto found = std::find_if(variant.artefacts.begin(), variant.artefacts.end(),
                                  [](const Artefact& artefact) { return artefact.target == "host"; });
  if (found == variant.artefacts.end())
    throw Error(ErrorCode::unsupported,
                fmt::format("variant {} has no host kernels; run cerar-tune again, which builds them.",
                            variant.name));
  return *found;
}

void* symbol(const MemoryLibrary& library, const std::string& name, const std::string& file) {
  if (void* address = library.symbol(name)) return address;
  throw Error(ErrorCode::invalid_plan,
              fmt::format("{} lacks the symbol {}; run cerar-tune again.", file, name));
}

}  // namespace

HostKernels::HostKernels(const LoadedPlan& loaded) {
  const Plan& plan = *loaded.plan;
  if (const auto problem = processor_problem(plan.host_target))
    throw Error(ErrorCode::unsupported,
                fmt::format("the plan's host kernels {}; run cerar-tune here, or with --host-target {}.",
                            *problem, processor_target()));
  for (const auto& variant : plan.variants) {
    const Artefact& artefact = host_library(variant);
    const std::string file = loaded.name_of(artefact);
    MemoryLibrary library(loaded.bytes_of(artefact), file);
    const auto size = *static_cast<const unsigned*>(symbol(library, "cerar_visit_arguments_size", file));
    if (size != sizeof(cerar_visit_arguments))
      throw Error(ErrorCode::invalid_plan, fmt::format("{} takes parameter blocks of {} bytes, this runtime "
                                                       "gives {}; run the cerar-tune of this version.",
                                                       file, size, sizeof(cerar_visit_arguments)));
    HostKernelTable table{};
    for (Role role : roles_of(variant.messages)) {
      const auto kernel = std::find_if(variant.kernels.begin(), variant.kernels.end(),
                                       [&](const Kernel& k) { return k.role == name_of(role); });
      if (kernel == variant.kernels.end())
        throw Error(ErrorCode::invalid_plan,
                    fmt::format("variant {} lacks the kernel {}.", variant.name, name_of(role)));
      table[static_cast<std::size_t>(role)] =
          reinterpret_cast<HostKernel>(symbol(library, kernel->entry, file));
    }
    libraries_.push_back(std::move(library));
    tables_.emplace(variant.name, table);
  }
}

}  // namespace cerar::runtime
