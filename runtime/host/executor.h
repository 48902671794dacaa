#pragma once

#include <memory>

#include "runtime/comm/executor.h"
#include "runtime/host/kernels.h"
#include "runtime/host/transport.h"

namespace cerar::runtime {

/// Runs a plan's host kernels in the calling thread. `plan` and `kernels` are shared by the ranks of a
/// process.
std::unique_ptr<Executor> make_host_executor(std::shared_ptr<const Plan> plan,
                                             std::shared_ptr<const HostKernels> kernels,
                                             std::unique_ptr<Transport> transport);

}  // namespace cerar::runtime
