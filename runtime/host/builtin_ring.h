#pragma once

#include "runtime/host/kernels.h"

namespace cerar::runtime {

/// A plan for the exact ring (c = N) and its kernels, compiled into this library: all-reduce without a plan,
/// and the measure that plans are compared with.
Plan builtin_ring_plan(int workers);
HostKernelTable builtin_ring_kernels();

}  // namespace cerar::runtime
