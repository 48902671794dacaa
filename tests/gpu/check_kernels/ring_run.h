#pragma once

#include <string>

#include "runtime/gpu/executor/device_kernels.h"
#include "runtime/host/kernels.h"
#include "tests/gpu/check_kernels/arena.h"

namespace cerar::test {

/// What a message-level run found.
struct RunResult {
  std::uint64_t launches = 0;
  std::uint64_t words = 0;       ///< of 32 bits that were compared
  std::uint64_t different = 0;   ///< from the host build, guard zones and poison included
  std::string first_difference;  ///< visit, role, rank and place; empty without one
  std::uint64_t not_exact = 0;   ///< results that differ from the sum in double rounded to f32
  double error = 0;              ///< rms over ranks, relative to the exact result's rms, in double
};

/// All visits of all ranks of one all-reduce, on one device and one stream: the kernels run as the executor
/// launches them, messages are copies. After each visit everything that the rank holds, guard zones included,
/// is compared with what the host build of the plan makes of the same bytes, bit for bit.
RunResult run_ring(const runtime::DeviceHandle& device, runtime::CuStream stream,
                   const runtime::Variant& variant, const runtime::DeviceKernelTable& kernels,
                   const runtime::HostKernelTable& host, const RunCase& run);

}  // namespace cerar::test
