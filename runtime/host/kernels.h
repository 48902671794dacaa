#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "runtime/host/memory_library.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/schedule.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

using HostKernel = void (*)(cerar_visit_arguments);

/// The kernels of one variant, ready to call. Roles of other families are null.
using HostKernelTable = std::array<HostKernel, kRoles>;

/// The host libraries of a plan, opened once from their bytes and closed with the last copy of the pointer.
class HostKernels {
 public:
  /// Throws `unsupported` when the processor lacks what the plan was compiled for or the plan has no host
  /// kernels, `invalid_plan` when a library cannot be opened, lacks a kernel or was made for another
  /// parameter block, and `system` where this machine opens no library from memory.
  explicit HostKernels(const LoadedPlan& loaded);
  /// Kernels that are linked into the program, for a plan of one variant.
  HostKernels(const Plan& plan, const HostKernelTable& linked) {
    tables_.emplace(plan.variants.front().name, linked);
  }

  const HostKernelTable& of(const Variant& variant) const { return tables_.at(variant.name); }

 private:
  std::vector<MemoryLibrary> libraries_;
  std::map<std::string, HostKernelTable> tables_;
};

}  // namespace cerar::runtime
