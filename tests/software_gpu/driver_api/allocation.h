#pragma once

#include "tests/software_gpu/base/codes.h"

/// What cuMemAlloc, cuMemFree and their likes of NCCL share.
namespace software_gpu {

enum class Allocator { driver, managed, nccl };

/// Memory of the device of the current context.
CuResult allocate_here(CuAddress* address, std::size_t bytes, Allocator by);
/// Waits for the device, as freeing does; refuses what another allocator gave.
CuResult free_when_idle(CuAddress address, bool of_nccl);

}  // namespace software_gpu
