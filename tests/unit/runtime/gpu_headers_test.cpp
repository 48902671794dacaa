// The binary interfaces that the runtime declares itself, against the headers of the libraries.
#include <gtest/gtest.h>

#include "runtime/gpu/driver_api.h"
#include "runtime/gpu/nccl/nccl_api.h"

#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL  // symbols as they are exported, none renamed to a newer version
#include <cuda.h>
#endif
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#endif

namespace cerar::runtime {
namespace {

/// Functions that a caller can take for each other: as many parameters, each of one size and kind.
template <typename A, typename B>
constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <typename A, typename B>
struct SameCall : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct SameCall<A (*)(As...), B (*)(Bs...)> : std::bool_constant<alike<A, B> && (alike<As, Bs> && ...)> {};

TEST(GpuHeaders, DriverIsAsDeclared) {
#if __has_include(<cuda.h>)
#define CERAR_COMPARE(name, parameters) \
  EXPECT_TRUE((SameCall<CuResult(*) parameters, decltype(&::name)>::value)) << #name;
  CERAR_DRIVER_FUNCTIONS(CERAR_COMPARE)
#undef CERAR_COMPARE
  EXPECT_EQ(int{kCuInvalidValue}, int{CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(int{kCuOutOfMemory}, int{CUDA_ERROR_OUT_OF_MEMORY});
  EXPECT_EQ(int{kCuDeinitialised}, int{CUDA_ERROR_DEINITIALIZED});
  EXPECT_EQ(int{kCuInvalidPtx}, int{CUDA_ERROR_INVALID_PTX});
  EXPECT_EQ(int{kCuJitCompilerNotFound}, int{CUDA_ERROR_JIT_COMPILER_NOT_FOUND});
  EXPECT_EQ(int{kCuUnsupportedPtxVersion}, int{CUDA_ERROR_UNSUPPORTED_PTX_VERSION});
  EXPECT_EQ(int{kCuJitCompilationDisabled}, int{CUDA_ERROR_JIT_COMPILATION_DISABLED});
  EXPECT_EQ(int{kCuInvalidSource}, int{CUDA_ERROR_INVALID_SOURCE});
  EXPECT_EQ(int{kCuSystemDriverMismatch}, int{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH});
  EXPECT_EQ(int{kCuNoDevice}, int{CUDA_ERROR_NO_DEVICE});
  EXPECT_EQ(int{kCuInvalidDevice}, int{CUDA_ERROR_INVALID_DEVICE});
  EXPECT_EQ(int{kCuInvalidImage}, int{CUDA_ERROR_INVALID_IMAGE});
  EXPECT_EQ(int{kCuInvalidContext}, int{CUDA_ERROR_INVALID_CONTEXT});
  EXPECT_EQ(int{kCuNoBinaryForGpu}, int{CUDA_ERROR_NO_BINARY_FOR_GPU});
  EXPECT_EQ(int{kCuInvalidHandle}, int{CUDA_ERROR_INVALID_HANDLE});
  EXPECT_EQ(int{kCuNotFound}, int{CUDA_ERROR_NOT_FOUND});
  EXPECT_EQ(int{kCuNotReady}, int{CUDA_ERROR_NOT_READY});
  EXPECT_EQ(int{kCuPeerAccessAlreadyEnabled}, int{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED});
  EXPECT_EQ(int{kCuMultiprocessorCount}, int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  EXPECT_EQ(int{kCuComputeCapabilityMajor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
  EXPECT_EQ(int{kCuComputeCapabilityMinor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  EXPECT_EQ(int{kCuPointerMemoryType}, int{CU_POINTER_ATTRIBUTE_MEMORY_TYPE});
  EXPECT_EQ(int{kCuPointerIsManaged}, int{CU_POINTER_ATTRIBUTE_IS_MANAGED});
  EXPECT_EQ(int{kCuPointerDeviceOrdinal}, int{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL});
  EXPECT_EQ(int{kCuMemoryDevice}, int{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(int{kCuCaptureActive}, int{CU_STREAM_CAPTURE_STATUS_ACTIVE});
  EXPECT_EQ(int{kCuCaptureStatusInvalidated}, int{CU_STREAM_CAPTURE_STATUS_INVALIDATED});
  EXPECT_EQ(int{kCuCaptureRelaxed}, int{CU_STREAM_CAPTURE_MODE_RELAXED});
  EXPECT_EQ(kCuStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(kCuEventDisableTiming, unsigned{CU_EVENT_DISABLE_TIMING});
#else
  GTEST_SKIP() << "cuda.h is not installed";
#endif
}

TEST(GpuHeaders, NcclIsAsDeclared) {
#if defined(NCCL_VERSION_CODE)
#define CERAR_COMPARE(name, parameters) \
  EXPECT_TRUE((SameCall<NcclResult(*) parameters, decltype(&::name)>::value)) << #name;
  CERAR_NCCL_FUNCTIONS(CERAR_COMPARE)
  CERAR_NCCL_NEWER_FUNCTIONS(CERAR_COMPARE)
#undef CERAR_COMPARE
  EXPECT_EQ(int{kNcclRemoteError}, int{ncclRemoteError});
  EXPECT_EQ(int{kNcclInProgress}, int{ncclInProgress});
  EXPECT_EQ(int{kNcclUint8}, int{ncclUint8});
  EXPECT_EQ(int{kNcclFloat16}, int{ncclFloat16});
  EXPECT_EQ(int{kNcclFloat32}, int{ncclFloat32});
  EXPECT_EQ(int{kNcclBfloat16}, int{ncclBfloat16});
  EXPECT_EQ(int{kNcclSum}, int{ncclSum});
  EXPECT_EQ(int{kNcclAverage}, int{ncclAvg});
  EXPECT_EQ(sizeof(NcclUniqueId), sizeof(ncclUniqueId));
  // The beginning of today's structure; the rest is told by its size.
  const NcclConfig ours;
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.split_share, theirs.splitShare);
  EXPECT_EQ(offsetof(NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_EQ(offsetof(NcclConfig, net_name), offsetof(ncclConfig_t, netName));
  EXPECT_EQ(offsetof(NcclConfig, split_share), offsetof(ncclConfig_t, splitShare));
#else
  GTEST_SKIP() << "nccl.h or cuda_runtime.h is not installed";
#endif
}

}  // namespace
}  // namespace cerar::runtime
