#include "tests/software_gpu/memory/memory.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/driver_api/allocation.h"
#include "tests/software_gpu/streams/capture.h"

// Memory and copies.
using namespace software_gpu;

namespace {

constexpr std::size_t kShortened = 16;

void* pointer(CuAddress address) { return reinterpret_cast<void*>(address); }

/// A range that was live when the copy was asked for must still be when it runs.
CuResult check_live(std::initializer_list<CuAddress> ranges, std::size_t bytes) {
  for (const CuAddress range : ranges) {
    if (memory::find(range, bytes)) continue;
    count(&SoftwareGpuCounters::illegal_accesses);
    std::fprintf(stderr, "software GPU: a copy touches %zu bytes at %#llx, which are not live\n", bytes,
                 range);
    return kCuIllegalAddress;
  }
  return kCuSuccess;
}

bool host_range(const void* from) {
  const auto address = reinterpret_cast<CuAddress>(from);
  const auto block = memory::find(address);
  return from && (!memory::is_device_address(address) || (block && block->managed));
}

CuResult give(CuStream handle, std::function<CuResult()> run, bool urgent = false) {
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  Work work;
  work.run = std::move(run);
  work.urgent = urgent;
  return submit(stream, std::move(work));
}

CuResult copy_on_devices(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) {
  const auto target = memory::find(to, bytes), source = memory::find(from, bytes);
  if (!target || !source) return kCuInvalidValue;
  const bool peers = target->device != source->device;
  return give(stream, [=] {
    SOFTWARE_GPU_TRY(check_live({to, from}, bytes));
    count(peers ? &SoftwareGpuCounters::peer_copies : &SoftwareGpuCounters::copies);
    std::memmove(pointer(to), pointer(from), bytes);
    return kCuSuccess;
  });
}

}  // namespace

namespace software_gpu {

CuResult allocate_here(CuAddress* address, std::size_t bytes, Allocator by) {
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  SOFTWARE_GPU_TRY(forbid_unsafe());
  if (bytes > kShortened && strikes(kSoftwareGpuShortenAllocation)) bytes -= kShortened;
  return memory::allocate(context->device, bytes, by == Allocator::managed, by == Allocator::nccl, address);
}

CuResult free_when_idle(CuAddress address, bool of_nccl) {
  std::vector<std::shared_ptr<Completion>> work;
  {
    const std::lock_guard hold(world());
    SOFTWARE_GPU_TRY(require_current());
    SOFTWARE_GPU_TRY(forbid_unsafe());
    if (!address) return kCuSuccess;
    const auto block = memory::find(address);
    if (!block || block->begin != address || block->of_nccl != of_nccl) return kCuInvalidValue;
    for (const auto& [handle, context] : contexts().all())
      if (context->device == block->device) {
        SOFTWARE_GPU_TRY(context->state());
        work = work_of(*context);
      }
  }
  if (strikes(kSoftwareGpuLeak)) return kCuSuccess;
  count(&SoftwareGpuCounters::host_synchronisations);
  for (const auto& piece : work) piece->wait();
  return memory::release(address);
}

}  // namespace software_gpu

namespace cerar::runtime {

CuResult cuMemAlloc_v2(CuAddress* address, std::size_t bytes) {
  SOFTWARE_GPU_ENTER(cuMemAlloc_v2);
  return allocate_here(address, bytes, Allocator::driver);
}

CuResult cuMemAllocManaged(CuAddress* address, std::size_t bytes, unsigned flags) {
  SOFTWARE_GPU_ENTER(cuMemAllocManaged);
  if (flags != kCuMemAttachGlobal) return kCuInvalidValue;
  return allocate_here(address, bytes, Allocator::managed);
}

CuResult cuMemFree_v2(CuAddress address) {
  SOFTWARE_GPU_ENTER(cuMemFree_v2);
  return free_when_idle(address, false);
}

CuResult cuMemcpyHtoDAsync_v2(CuAddress to, const void* from, std::size_t bytes, CuStream stream) {
  SOFTWARE_GPU_ENTER(cuMemcpyHtoDAsync_v2);
  SOFTWARE_GPU_TRY(require_current());
  if (bytes == 0) return kCuSuccess;
  if (!memory::find(to, bytes) || !host_range(from)) return kCuInvalidValue;
  // Pageable memory is read before the call returns, but at every replay under capture.
  bool captured = false;
  {
    const std::lock_guard hold(world());
    std::shared_ptr<Stream> on;
    SOFTWARE_GPU_TRY(find_stream(stream, &on));
    captured = on->capture != nullptr;
  }
  const auto staged = std::make_shared<std::string>();
  if (!captured) staged->assign(static_cast<const char*>(from), bytes);
  return give(stream, [=] {
    SOFTWARE_GPU_TRY(check_live({to}, bytes));
    count(&SoftwareGpuCounters::copies);
    std::memcpy(pointer(to), captured ? from : staged->data(), bytes);
    return kCuSuccess;
  });
}

CuResult cuMemcpyDtoHAsync_v2(void* to, CuAddress from, std::size_t bytes, CuStream stream) {
  SOFTWARE_GPU_ENTER(cuMemcpyDtoHAsync_v2);
  SOFTWARE_GPU_TRY(require_current());
  if (bytes == 0) return kCuSuccess;
  if (!memory::find(from, bytes) || !host_range(to)) return kCuInvalidValue;
  return give(stream, [=] {
    SOFTWARE_GPU_TRY(check_live({from}, bytes));
    count(&SoftwareGpuCounters::copies);
    std::memcpy(to, pointer(from), bytes);
    return kCuSuccess;
  });
}

CuResult cuMemcpyDtoDAsync_v2(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) {
  SOFTWARE_GPU_ENTER(cuMemcpyDtoDAsync_v2);
  SOFTWARE_GPU_TRY(require_current());
  return bytes == 0 ? kCuSuccess : copy_on_devices(to, from, bytes, stream);
}

CuResult cuMemcpyPeerAsync(CuAddress to, CuContext to_context, CuAddress from, CuContext from_context,
                           std::size_t bytes, CuStream handle) {
  SOFTWARE_GPU_ENTER(cuMemcpyPeerAsync);
  SOFTWARE_GPU_TRY(require_current());
  {
    const std::lock_guard hold(world());
    const auto target = contexts().find(to_context), source = contexts().find(from_context);
    if (!target || !source) return kCuInvalidContext;
    SOFTWARE_GPU_TRY(target->state());
    SOFTWARE_GPU_TRY(source->state());
    if (bytes == 0) return kCuSuccess;
    const auto to_block = memory::find(to, bytes), from_block = memory::find(from, bytes);
    if (!to_block || to_block->device != target->device) return kCuInvalidValue;
    if (!from_block || from_block->device != source->device) return kCuInvalidValue;
  }
  return give(
      handle,
      [=] {
        SOFTWARE_GPU_TRY(check_live({to, from}, bytes));
        count(&SoftwareGpuCounters::peer_copies);
        std::memmove(pointer(to), pointer(from), bytes);
        return kCuSuccess;
      },
      true);
}

CuResult cuMemsetD32Async(CuAddress to, unsigned value, std::size_t words, CuStream stream) {
  SOFTWARE_GPU_ENTER(cuMemsetD32Async);
  SOFTWARE_GPU_TRY(require_current());
  if (words == 0) return kCuSuccess;
  const std::size_t bytes = words * sizeof value;
  if (to % sizeof value || !memory::find(to, bytes)) return kCuInvalidValue;
  return give(stream, [=] {
    SOFTWARE_GPU_TRY(check_live({to}, bytes));
    count(&SoftwareGpuCounters::copies);
    for (std::size_t i = 0; i < words; ++i) static_cast<unsigned*>(pointer(to))[i] = value;
    return kCuSuccess;
  });
}

CuResult cuPointerGetAttribute(void* value, CuPointerAttribute attribute, CuAddress address) {
  SOFTWARE_GPU_ENTER(cuPointerGetAttribute);
  const auto block = memory::find(address);
  if (!block) return kCuInvalidValue;
  switch (attribute) {
    case kCuPointerMemoryType:
      *static_cast<unsigned*>(value) = kCuMemoryDevice;
      return kCuSuccess;
    case kCuPointerIsManaged:
      *static_cast<unsigned*>(value) = block->managed;
      return kCuSuccess;
    case kCuPointerDeviceOrdinal:
      *static_cast<int*>(value) = block->device;
      return kCuSuccess;
  }
  return kCuInvalidValue;
}

}  // namespace cerar::runtime
