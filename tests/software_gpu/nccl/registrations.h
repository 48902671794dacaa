#pragma once

#include "runtime/gpu/nccl/nccl_api.h"

/// Memory that NCCL gave out, and what is registered with communicators.
namespace software_nccl {

using namespace cerar::runtime;

NcclResult allocate(void** memory, std::size_t bytes);
NcclResult release(void* memory);

NcclResult register_memory(const NcclCommTag* comm, void* memory, std::size_t bytes, void** handle);
NcclResult deregister(const NcclCommTag* comm, void* handle);

/// At a communicator's end. `aborted`: it takes its registrations with it.
void forget_registrations(const NcclCommTag* comm, bool aborted);

long long count_registrations();
long long count_misuses();
void forget_registrations();

}  // namespace software_nccl
