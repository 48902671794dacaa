#pragma once

#include <cstddef>

/// The part of the CUDA driver's binary interface that CERAR uses, declared here so that one build serves
/// machines with and without CUDA. Numbers and layouts are those of every driver since CUDA 11.4; where
/// <cuda.h> is found, a test compares them. Names of functions carry the version suffix of the exported
/// symbol.
namespace cerar::runtime {

struct CuContextTag;
struct CuStreamTag;
struct CuEventTag;
struct CuModuleTag;
struct CuFunctionTag;
using CuContext = CuContextTag*;
using CuStream = CuStreamTag*;  ///< null is the legacy default stream
using CuEvent = CuEventTag*;
using CuModule = CuModuleTag*;
using CuFunction = CuFunctionTag*;
using CuDevice = int;
using CuAddress = unsigned long long;  ///< in device memory

enum CuResult : int {
  kCuSuccess = 0,
  kCuInvalidValue = 1,
  kCuOutOfMemory = 2,
  kCuDeinitialised = 4,
  kCuNoDevice = 100,
  kCuInvalidDevice = 101,
  kCuInvalidImage = 200,
  kCuInvalidContext = 201,
  kCuNoBinaryForGpu = 209,
  kCuInvalidPtx = 218,
  kCuJitCompilerNotFound = 221,
  kCuUnsupportedPtxVersion = 222,
  kCuJitCompilationDisabled = 223,
  kCuInvalidSource = 300,
  kCuInvalidHandle = 400,
  kCuNotFound = 500,
  kCuNotReady = 600,
  kCuIllegalAddress = 700,
  kCuPeerAccessAlreadyEnabled = 704,
  kCuLaunchFailed = 719,
  kCuNotSupported = 801,
  kCuSystemDriverMismatch = 803,
  kCuCaptureUnsupported = 900,
  kCuCaptureInvalidated = 901,
  kCuCaptureUnjoined = 904,
  kCuCaptureIsolation = 905,
  kCuCapturedEvent = 907,
  kCuUnknown = 999,
};

enum CuDeviceAttribute : int {
  kCuMultiprocessorCount = 16,
  kCuComputeCapabilityMajor = 75,
  kCuComputeCapabilityMinor = 76,
};
enum CuPointerAttribute : int {
  kCuPointerMemoryType = 2,
  kCuPointerIsManaged = 8,
  kCuPointerDeviceOrdinal = 9,
};
enum CuMemoryType : int { kCuMemoryHost = 1, kCuMemoryDevice = 2 };
enum CuCaptureStatus : int { kCuCaptureNone = 0, kCuCaptureActive = 1, kCuCaptureStatusInvalidated = 2 };
enum CuCaptureMode : int { kCuCaptureGlobal = 0, kCuCaptureThreadLocal = 1, kCuCaptureRelaxed = 2 };
constexpr unsigned kCuStreamNonBlocking = 1;
constexpr unsigned kCuEventDisableTiming = 2;

/// name, parameters: every function that is looked up in libcuda.so.1.
#define CERAR_DRIVER_FUNCTIONS(X)                                                                   \
  X(cuInit, (unsigned flags))                                                                       \
  X(cuDriverGetVersion, (int* version))                                                             \
  X(cuGetErrorName, (CuResult error, const char** name))                                            \
  X(cuGetErrorString, (CuResult error, const char** sentence))                                      \
  X(cuDeviceGetCount, (int* count))                                                                 \
  X(cuDeviceGet, (CuDevice * device, int ordinal))                                                  \
  X(cuDeviceGetName, (char* name, int length, CuDevice device))                                     \
  X(cuDeviceGetAttribute, (int* value, CuDeviceAttribute attribute, CuDevice device))               \
  X(cuDeviceCanAccessPeer, (int* can, CuDevice device, CuDevice peer))                              \
  X(cuDevicePrimaryCtxRetain, (CuContext * context, CuDevice device))                               \
  X(cuDevicePrimaryCtxRelease_v2, (CuDevice device))                                                \
  X(cuCtxPushCurrent_v2, (CuContext context))                                                       \
  X(cuCtxPopCurrent_v2, (CuContext * context))                                                      \
  X(cuCtxEnablePeerAccess, (CuContext peer, unsigned flags))                                        \
  X(cuCtxDisablePeerAccess, (CuContext peer))                                                       \
  X(cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                       \
  X(cuMemAlloc_v2, (CuAddress * address, std::size_t bytes))                                        \
  X(cuMemFree_v2, (CuAddress address))                                                              \
  X(cuMemcpyHtoDAsync_v2, (CuAddress to, const void* from, std::size_t bytes, CuStream stream))     \
  X(cuMemcpyDtoHAsync_v2, (void* to, CuAddress from, std::size_t bytes, CuStream stream))           \
  X(cuMemcpyDtoDAsync_v2, (CuAddress to, CuAddress from, std::size_t bytes, CuStream stream))       \
  X(cuMemcpyPeerAsync, (CuAddress to, CuContext to_context, CuAddress from, CuContext from_context, \
                        std::size_t bytes, CuStream stream))                                        \
  X(cuMemsetD32Async, (CuAddress to, unsigned value, std::size_t count, CuStream stream))           \
  X(cuStreamCreateWithPriority, (CuStream * stream, unsigned flags, int priority))                  \
  X(cuStreamDestroy_v2, (CuStream stream))                                                          \
  X(cuStreamWaitEvent, (CuStream stream, CuEvent event, unsigned flags))                            \
  X(cuStreamQuery, (CuStream stream))                                                               \
  X(cuStreamSynchronize, (CuStream stream))                                                         \
  X(cuStreamGetCaptureInfo, (CuStream stream, CuCaptureStatus * status, unsigned long long* id))    \
  X(cuStreamGetCtx, (CuStream stream, CuContext * context))                                         \
  X(cuThreadExchangeStreamCaptureMode, (CuCaptureMode * mode))                                      \
  X(cuEventCreate, (CuEvent * event, unsigned flags))                                               \
  X(cuEventRecord, (CuEvent event, CuStream stream))                                                \
  X(cuEventQuery, (CuEvent event))                                                                  \
  X(cuEventDestroy_v2, (CuEvent event))                                                             \
  X(cuModuleLoadData, (CuModule * module, const void* image))                                       \
  X(cuModuleUnload, (CuModule module))                                                              \
  X(cuModuleGetFunction, (CuFunction * function, CuModule module, const char* name))                \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                    \
    (int* blocks, CuFunction function, int block_threads, std::size_t shared_bytes))                \
  X(cuLaunchKernel, (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,        \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,   \
                     CuStream stream, void** parameters, void** extra))                             \
  X(cuPointerGetAttribute, (void* value, CuPointerAttribute attribute, CuAddress address))

}  // namespace cerar::runtime
