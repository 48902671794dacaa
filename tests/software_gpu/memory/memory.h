#pragma once

#include <optional>

#include "tests/software_gpu/base/codes.h"

/// Memory of the software devices. Every device has a range of addresses of its own, reserved before anything
/// is allocated, so that no host pointer lies in it. An allocation is filled with quiet NaNs when it is made
/// and when it is freed, stands between two guard zones, and is not handed out again soon.
namespace software_gpu::memory {

constexpr unsigned kFresh = 0x7fc0dead;  ///< what fresh memory holds
constexpr unsigned kFreed = 0x7fc0feed;  ///< what freed memory holds

struct Block {
  CuAddress begin;
  std::size_t bytes;
  int device;
  bool managed;
  bool of_nccl;  ///< from ncclMemAlloc, which the driver's cuMemFree does not take
};

CuResult allocate(int device, std::size_t bytes, bool managed, bool of_nccl, CuAddress* address);
/// kCuInvalidValue unless a live allocation begins there. Checks its guards.
CuResult release(CuAddress address);
/// Frees all of a device, which loses its context.
void release_device(int device);
/// The live allocation that all of a range lies in.
std::optional<Block> find(CuAddress address, std::size_t bytes = 1);
/// Whether an address belongs to a software device, live or not.
bool is_device_address(CuAddress address);

struct Live {
  long long allocations, bytes;
};
Live live();

/// Checks the guards of all live allocations and counts those that were written.
long long check_guards();

}  // namespace software_gpu::memory
