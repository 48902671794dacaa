#pragma once

#include "runtime/gpu/executor/device_kernels.h"
#include "tests/gpu/support/program.h"

namespace cerar::test {

/// The kernels `widen` and `narrow` of a variant against the runtime's own conversions on the host: every bit
/// pattern of 16 bits, numbers between them, those at the edges, packs of four and single elements, odd
/// counts, guard zones. Bits are equal, but NaNs may be any. Returns the number of elements compared.
std::uint64_t check_conversions(const runtime::DeviceHandle& device, runtime::CuStream stream,
                                const runtime::DeviceKernelTable& kernels, const std::string& name,
                                Report& report);

}  // namespace cerar::test
