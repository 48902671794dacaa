#pragma once

#include <chrono>
#include <memory>

#include "runtime/comm/executor.h"
#include "runtime/gpu/transport.h"
#include "runtime/plan/plan_directory.h"

namespace cerar::runtime {

/// Runs a plan's cubins on the transport's device, on the caller's stream. `plan` null: only the transport's
/// own all-reduce. `timeout` limits how long a call that has begun may take. Throws `unsupported` where the
/// plan has no kernels for the device. `meets`: every rank makes its executor now, and they compare their
/// plans; throws `mismatch` where those differ, and what `exchange` throws.
std::unique_ptr<Executor> make_cuda_executor(std::shared_ptr<const LoadedPlan> plan,
                                             std::unique_ptr<DeviceTransport> transport,
                                             std::chrono::milliseconds timeout, bool meets);

}  // namespace cerar::runtime
