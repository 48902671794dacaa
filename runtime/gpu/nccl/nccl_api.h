#pragma once

#include <climits>
#include <cstddef>

#include "runtime/gpu/driver_api.h"

/// The part of NCCL's binary interface that CERAR uses (2.18 and newer), declared here so that one build
/// serves machines with and without NCCL; where nccl.h is found, a test compares them.
namespace cerar::runtime {

struct NcclCommTag;
using NcclComm = NcclCommTag*;

constexpr int kNcclOldest = 21800;  ///< 2.18.0; the first with ncclCommSplit
constexpr std::size_t kNcclIdBytes = 128;
struct NcclUniqueId {
  char internal[kNcclIdBytes];
};

enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};
enum NcclType : int { kNcclUint8 = 1, kNcclFloat16 = 6, kNcclFloat32 = 7, kNcclBfloat16 = 9 };
enum NcclReduction : int { kNcclSum = 0, kNcclAverage = 4 };

/// As of 2.18; NCCL reads `size` and `version` and takes defaults for what came later.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = kNcclOldest;
  int blocking = INT_MIN;  // INT_MIN and null: undefined, NCCL's default
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

/// name, parameters: the functions of libnccl.so.2 that every version has.
#define CERAR_NCCL_FUNCTIONS(X)                                                                            \
  X(ncclGetVersion, (int* version))                                                                        \
  X(ncclGetUniqueId, (NcclUniqueId * id))                                                                  \
  X(ncclCommInitRankConfig, (NcclComm * comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config))   \
  X(ncclCommSplit, (NcclComm comm, int color, int key, NcclComm* made, NcclConfig* config))                \
  X(ncclCommDestroy, (NcclComm comm))                                                                      \
  X(ncclCommAbort, (NcclComm comm))                                                                        \
  X(ncclCommGetAsyncError, (NcclComm comm, NcclResult * error))                                            \
  X(ncclCommCount, (const NcclCommTag* comm, int* ranks))                                                  \
  X(ncclCommUserRank, (const NcclCommTag* comm, int* rank))                                                \
  X(ncclCommCuDevice, (const NcclCommTag* comm, int* device))                                              \
  X(ncclGroupStart, ())                                                                                    \
  X(ncclGroupEnd, ())                                                                                      \
  X(ncclSend,                                                                                              \
    (const void* from, std::size_t count, NcclType type, int peer, NcclComm comm, CuStream stream))        \
  X(ncclRecv, (void* to, std::size_t count, NcclType type, int peer, NcclComm comm, CuStream stream))      \
  X(ncclAllGather,                                                                                         \
    (const void* from, void* to, std::size_t count, NcclType type, NcclComm comm, CuStream stream))        \
  X(ncclAllReduce, (const void* from, void* to, std::size_t count, NcclType type, NcclReduction reduction, \
                    NcclComm comm, CuStream stream))

/// Those that came with 2.19; null where a library lacks them.
#define CERAR_NCCL_NEWER_FUNCTIONS(X)                                                            \
  X(ncclMemAlloc, (void** memory, std::size_t bytes))                                            \
  X(ncclMemFree, (void* memory))                                                                 \
  X(ncclCommRegister, (const NcclCommTag* comm, void* memory, std::size_t bytes, void** handle)) \
  X(ncclCommDeregister, (const NcclCommTag* comm, void* handle))

}  // namespace cerar::runtime
