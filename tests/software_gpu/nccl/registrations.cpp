#include "tests/software_gpu/nccl/registrations.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>

#include "tests/software_gpu/driver_api/allocation.h"
#include "tests/software_gpu/memory/memory.h"
#include "tests/software_gpu/nccl/communicator.h"

namespace software_nccl {
namespace {

struct Registration {
  const NcclCommTag* comm;
  CuAddress begin;
  std::size_t bytes;
};

struct Registrations {
  std::mutex mutex;
  std::map<void*, Registration> live;  // by handle
  long long misuses = 0;
};
Registrations& registrations() {
  static auto& made = *new Registrations;
  return made;
}

CuAddress address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// With the mutex held.
NcclResult misuse(const char* what, const void* of) {
  ++registrations().misuses;
  std::fprintf(stderr, "software NCCL: %s (%p)\n", what, of);
  return kNcclInvalidUsage;
}

}  // namespace

NcclResult allocate(void** memory, std::size_t bytes) {
  CuAddress address = 0;
  if (software_gpu::allocate_here(&address, bytes, software_gpu::Allocator::nccl) != kCuSuccess)
    return kNcclUnhandledCudaError;
  *memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return kNcclSuccess;
}

NcclResult release(void* memory) {
  {
    const std::lock_guard hold(registrations().mutex);
    const auto& live = registrations().live;
    if (std::any_of(live.begin(), live.end(),
                    [&](const auto& entry) { return entry.second.begin == address_of(memory); }))
      return misuse("memory is freed that is registered", memory);
  }
  return software_gpu::free_when_idle(address_of(memory), true) == kCuSuccess ? kNcclSuccess
                                                                              : kNcclInvalidArgument;
}

NcclResult register_memory(const NcclCommTag* comm, void* memory, std::size_t bytes, void** handle) {
  const auto communicator = find(comm);
  if (!communicator || communicator->initialised() != kNcclSuccess) return kNcclInvalidArgument;
  const auto block = software_gpu::memory::find(address_of(memory), bytes);
  if (!block || block->device != communicator->device) return kNcclInvalidArgument;
  *handle = reinterpret_cast<void*>(software_gpu::next_handle());
  const std::lock_guard hold(registrations().mutex);
  registrations().live[*handle] = {comm, address_of(memory), bytes};
  return kNcclSuccess;
}

NcclResult deregister(const NcclCommTag* comm, void* handle) {
  const bool lives = find(comm) != nullptr;
  const std::lock_guard hold(registrations().mutex);
  if (!lives) return misuse("memory is deregistered after its communicator's end", handle);
  const auto found = registrations().live.find(handle);
  if (found == registrations().live.end() || found->second.comm != comm)
    return misuse("memory is deregistered that is not registered", handle);
  registrations().live.erase(found);
  return kNcclSuccess;
}

void forget_registrations(const NcclCommTag* comm, bool aborted) {
  const std::lock_guard hold(registrations().mutex);
  const auto left =
      std::erase_if(registrations().live, [&](const auto& entry) { return entry.second.comm == comm; });
  if (left > 0 && !aborted) misuse("a communicator is destroyed with memory registered", comm);
}

long long count_registrations() {
  const std::lock_guard hold(registrations().mutex);
  return static_cast<long long>(registrations().live.size());
}

long long count_misuses() {
  const std::lock_guard hold(registrations().mutex);
  return registrations().misuses;
}

void forget_registrations() {
  const std::lock_guard hold(registrations().mutex);
  registrations().live.clear();
  registrations().misuses = 0;
}

}  // namespace software_nccl
