#pragma once

#include "runtime/gpu/nccl/nccl_api.h"

/// The libnccl stand-in as tests call it when they link it, and what they ask of it besides; see README.md.
namespace cerar::runtime {

extern "C" {
#define CERAR_DECLARE(name, parameters) NcclResult name parameters;
CERAR_NCCL_FUNCTIONS(CERAR_DECLARE)
CERAR_NCCL_NEWER_FUNCTIONS(CERAR_DECLARE)
#undef CERAR_DECLARE

NcclResult ncclCommInitRank(NcclComm* comm, int ranks, NcclUniqueId id, int rank);
NcclResult ncclCommFinalize(NcclComm comm);
const char* ncclGetErrorString(NcclResult result);
}

}  // namespace cerar::runtime

extern "C" {

/// The n-th call from now on of the function of this name returns `code` and does nothing else.
void software_nccl_fail(const char* function, long long n, int code);

/// The n-th call from now on of ncclSend or ncclAllGather does not return until another thread aborts its
/// communicator; n = 0 calls it off.
void software_nccl_stall(const char* function, long long n);

/// ncclCommGetAsyncError says `code` for every communicator in which the caller has this rank, also for those
/// made later; 0 calls it off.
void software_nccl_async_error(int rank, int code);

/// Communicators that have been neither destroyed nor aborted.
long long software_nccl_communicators();

/// Memory that is registered with communicators.
long long software_nccl_registrations();

/// Since the last reset: registered memory freed, memory deregistered after its communicator's end or twice,
/// communicators destroyed with memory registered. Each is said on stderr as well.
long long software_nccl_misuses();

/// Since the last reset: work that began on a device while another communicator's was under way there, which
/// hangs where other ranks begin in another order.
long long software_nccl_overlaps();

/// Aborts all communicators and forgets injected failures.
void software_nccl_reset();
}
