#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/resources.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/schedule.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// One kernel, ready to launch.
struct DeviceKernel {
  CuFunction function = nullptr;
  unsigned threads = 0;           ///< of a block
  long long resident_blocks = 0;  ///< that the device holds at once

  /// Runs on `stream` with enough blocks for `packs` packs of elements, at most a few times the resident
  /// ones: blocks stride over the rest.
  template <typename Arguments>
  void launch(const Arguments& arguments, long long packs, CuStream stream) const {
    launch_block(&arguments, packs, stream);
  }

 private:
  void launch_block(const void* arguments, long long packs, CuStream stream) const;
};

using DeviceKernelTable = std::array<DeviceKernel, kRoles>;

/// The cubins of a plan on one device, or its PTX, loaded variant by variant when they are first needed.
class DeviceKernels {
 public:
  /// Throws `unsupported`, naming what the plan has and what the device is, unless every variant has
  /// kernels that the device can run.
  DeviceKernels(DeviceHandle device, std::shared_ptr<const LoadedPlan> plan);

  /// Loads on first use, which waits for the device. Throws `invalid_plan` when a file does not hold what the
  /// plan says.
  const DeviceKernelTable& of(const Variant& variant);
  bool loaded(const Variant& variant) const { return tables_.contains(variant.name); }

 private:
  DeviceHandle device_;
  std::shared_ptr<const LoadedPlan> plan_;
  std::vector<DeviceModule> modules_;
  std::map<std::string, DeviceKernelTable> tables_;
};

/// The best of `targets` for a device of `architecture` ("sm_80"), or "" where none runs on it: a cubin of
/// the same major version, the highest of at most its minor one; without that the highest PTX ("compute_80")
/// of at most its version, which the driver compiles.
std::string best_target(const std::vector<std::string>& targets, const std::string& architecture);

}  // namespace cerar::runtime
