#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/schedule/step.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

using HostKernel = void (*)(cerar_visit_arguments);

/// The kernels of one variant, ready to call. Roles of other families are null.
using HostKernelTable = std::array<HostKernel, kRoles>;

/// The host libraries of a plan, opened once and closed with the last copy of the pointer.
class HostKernels {
 public:
  /// Throws `unsupported` when the processor lacks what the plan was compiled for, `invalid_plan` when a
  /// library cannot be opened, lacks a kernel or was made for another parameter block.
  HostKernels(const Plan& plan, const std::filesystem::path& directory);
  /// Kernels that are linked into the program, for a plan of one variant.
  HostKernels(const Plan& plan, const HostKernelTable& linked) {
    tables_.emplace(plan.variants.front().name, linked);
  }

  const HostKernelTable& of(const Variant& variant) const { return tables_.at(variant.name); }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::vector<std::unique_ptr<void, Close>> libraries_;
  std::map<std::string, HostKernelTable> tables_;
};

}  // namespace cerar::runtime
