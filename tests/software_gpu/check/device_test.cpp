#include "tests/software_gpu/check/device.h"

#include <cmath>

namespace software_gpu_test {
namespace {

constexpr std::size_t kElements = 1000;

/// Copies to the device on one stream, a kernel on another, and the host reads the result.
class Order : public DeviceTest {
 protected:
  std::vector<float> two_streams() {
    const CuStream first = stream(), second = stream();
    const CuAddress in = allocate(kElements), out = allocate(kElements);
    const CuEvent copied = event();
    // Only the last of many writes leaves what the kernel shall read.
    for (int i = 0; i < 64; ++i) put(in, std::vector<float>(kElements, 1), first);
    EXPECT_EQ(cuMemsetD32Async(in, 0x40000000, kElements, first), kCuSuccess);  // 2.0f
    EXPECT_EQ(cuEventRecord(copied, first), kCuSuccess);
    EXPECT_EQ(cuStreamWaitEvent(second, copied, 0), kCuSuccess);
    EXPECT_EQ(scale(in, out, kElements, 3, second), kCuSuccess);
    auto result = get(out, kElements, second);
    EXPECT_EQ(cuStreamSynchronize(first), kCuSuccess);
    return result;
  }
  /// On a busy machine the second stream may come late enough by chance.
  bool shows(SoftwareGpuFault fault) {
    software_gpu_delays(1000, 1);
    for (int attempt = 0; attempt < 5; ++attempt) {
      software_gpu_inject(fault, 1);
      if (two_streams() != std::vector<float>(kElements, 6)) return true;
    }
    return false;
  }
};

TEST_F(Order, waits_are_kept) { EXPECT_EQ(two_streams(), std::vector<float>(kElements, 6)); }

TEST_F(Order, a_missing_wait_makes_results_wrong) { EXPECT_TRUE(shows(kSoftwareGpuDropWait)); }

TEST_F(Order, a_missing_record_makes_results_wrong) { EXPECT_TRUE(shows(kSoftwareGpuDropRecord)); }

TEST_F(Order, a_wait_refers_to_the_record_before_it) {
  const CuStream first = stream(), second = stream();
  const CuAddress in = allocate(1);
  const CuEvent done = event();
  CU(cuStreamWaitEvent(second, done, 0));  // never recorded
  CU(cuStreamSynchronize(second));
  software_gpu_delays(20000, 1);
  CU(cuEventRecord(done, second));
  CU(cuStreamWaitEvent(second, done, 0));
  for (int i = 0; i < 8; ++i) CU(cuMemsetD32Async(in, 1, 1, first));
  CU(cuEventRecord(done, first));
  CU(cuStreamSynchronize(second));  // does not wait for the first stream
  EXPECT_EQ(cuEventQuery(done), kCuNotReady);
  CU(cuStreamSynchronize(first));
  EXPECT_EQ(cuEventQuery(done), kCuSuccess);
}

TEST_F(Order, the_null_stream_waits_for_blocking_streams_only) {
  const CuStream blocking = stream(0), other = stream();
  const CuAddress in = allocate(kElements), out = allocate(kElements);
  for (int i = 0; i < 8; ++i) put(in, std::vector<float>(kElements, static_cast<float>(i)), blocking);
  CU(scale(in, out, kElements, 2, nullptr));
  EXPECT_EQ(get(out, kElements, blocking), std::vector<float>(kElements, 14));
  software_gpu_delays(20000, 1);
  for (int i = 0; i < 8; ++i) CU(cuMemsetD32Async(in, 1, 1, other));
  CU(cuStreamSynchronize(nullptr));
  EXPECT_EQ(cuStreamQuery(other), kCuNotReady);
  CU(cuCtxSynchronize());
  EXPECT_EQ(cuStreamQuery(other), kCuSuccess);
}

using Memory = DeviceTest;

TEST_F(Memory, is_poisoned_and_known) {
  const CuStream on = stream();
  const CuAddress address = allocate(kElements);
  EXPECT_TRUE(std::isnan(get(address, kElements, on).back()));
  unsigned type = 0;
  CU(cuPointerGetAttribute(&type, kCuPointerMemoryType, address + 40));
  EXPECT_EQ(type, static_cast<unsigned>(kCuMemoryDevice));
  EXPECT_EQ(cuPointerGetAttribute(&type, kCuPointerMemoryType, reinterpret_cast<CuAddress>(&type)),
            kCuInvalidValue);
  CU(cuMemFree_v2(address));
  EXPECT_EQ(cuPointerGetAttribute(&type, kCuPointerMemoryType, address), kCuInvalidValue);
  EXPECT_EQ(counters().allocations_live, 0);
}

TEST_F(Memory, use_after_free_makes_the_context_fail) {
  const CuStream on = stream();
  const CuAddress in = allocate(kElements), out = allocate(kElements);
  CU(cuMemFree_v2(in));
  CU(scale(in, out, kElements, 2, on));
  EXPECT_EQ(cuStreamSynchronize(on), kCuIllegalAddress);
  CuEvent never;
  EXPECT_EQ(cuEventCreate(&never, 0), kCuIllegalAddress);
  EXPECT_EQ(counters().illegal_accesses, 1);
}

TEST_F(Memory, guards_notice_an_overrun) {
  const CuStream on = stream();
  CuFunction overrun;
  CU(cuModuleGetFunction(&overrun, module_, "software_overrun"));
  const CuAddress out = allocate(kElements);
  CU(launch(overrun, 0, out, kElements - 1, 1, on));
  CU(cuMemFree_v2(out));
  EXPECT_EQ(counters().guard_faults, 0);
  software_gpu_inject(kSoftwareGpuShortenAllocation, 1);
  const CuAddress shorter = allocate(kElements);
  CU(launch(overrun, 0, shorter, kElements - 1, 1, on));
  CU(cuMemFree_v2(shorter));
  EXPECT_EQ(counters().guard_faults, 1);
}

TEST_F(Memory, of_another_device_needs_peer_access) {
  CuContext second;
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  CU(cuCtxPushCurrent_v2(second));
  const CuAddress far = allocate(kElements);
  CU(cuCtxPopCurrent_v2(nullptr));
  const CuStream on = stream();
  const CuAddress near = allocate(kElements);
  put(near, std::vector<float>(kElements, 1), on);
  CU(cuMemcpyPeerAsync(far, second, near, context_, kElements * sizeof(float), on));
  EXPECT_EQ(cuMemcpyPeerAsync(far, context_, near, context_, 4, on), kCuInvalidValue);
  CU(cuCtxEnablePeerAccess(second, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), kCuPeerAccessAlreadyEnabled);
  CU(scale(far, near, kElements, 5, on));
  EXPECT_EQ(get(near, kElements, on), std::vector<float>(kElements, 5));
  CU(cuCtxDisablePeerAccess(second));
  CU(scale(far, near, kElements, 5, on));
  EXPECT_EQ(cuStreamSynchronize(on), kCuIllegalAddress);
}

TEST_F(Memory, is_told_apart_whatever_the_order_of_devices) {
  std::vector<CuAddress> all;
  for (const int device : {2, 0, 3, 1}) {
    CuContext context;
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxPushCurrent_v2(context));
    const CuAddress address = allocate(kElements);
    int ordinal = -1;
    CU(cuPointerGetAttribute(&ordinal, kCuPointerDeviceOrdinal, address));
    EXPECT_EQ(ordinal, device);
    all.push_back(address);
  }
  for (const CuAddress address : all) CU(cuMemFree_v2(address));
}

using Modules = DeviceTest;

TEST_F(Modules, are_checked) {
  CuModule module;
  EXPECT_EQ(cuModuleLoadData(&module, "no cubin at all"), kCuInvalidImage);
  EXPECT_EQ(cuModuleLoadData(&module, plain_cubin(90, {"software_scale"}).data()), kCuNoBinaryForGpu);
  EXPECT_EQ(cuModuleLoadData(&module, plain_cubin(80, {"unknown"}).data()), kCuInvalidImage);
  CuFunction function;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "unknown"), kCuNotFound);
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "software_absent"), kCuNotFound);  // in the library
  CU(cuModuleUnload(module_));
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "software_scale"), kCuInvalidHandle);
}

TEST_F(Modules, launches_are_checked) {
  const CuStream on = stream();
  const CuAddress in = allocate(8);
  cerar_visit_arguments arguments{};
  arguments.input = reinterpret_cast<const float*>(in) + 1;
  arguments.vector_width = 4;
  void* parameters[] = {&arguments};
  EXPECT_EQ(cuLaunchKernel(scale_, 1, 1, 1, 33, 1, 1, 0, on, parameters, nullptr), kCuInvalidValue);
  EXPECT_EQ(cuLaunchKernel(scale_, 0, 1, 1, 32, 1, 1, 0, on, parameters, nullptr), kCuInvalidValue);
  CU(cuLaunchKernel(scale_, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr));
  EXPECT_EQ(cuStreamSynchronize(on), static_cast<CuResult>(716));  // misaligned
}

using Handles = DeviceTest;

TEST_F(Handles, are_told_from_destroyed_ones) {
  const CuStream on = stream();
  const CuEvent done = event();
  CU(cuEventDestroy_v2(done));
  EXPECT_EQ(cuEventRecord(done, on), kCuInvalidHandle);
  CU(cuStreamDestroy_v2(on));
  EXPECT_EQ(cuStreamSynchronize(on), kCuInvalidHandle);
  const CuStream lost = stream();
  CU(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuStreamGetCtx(lost, &context_), static_cast<CuResult>(709));  // context is destroyed
  CU(cuCtxPopCurrent_v2(nullptr));
  CuAddress address;
  EXPECT_EQ(cuMemAlloc_v2(&address, 4), kCuInvalidContext);
}

TEST_F(Handles, of_two_devices_do_not_mix) {
  CuContext second;
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  const CuStream here = stream();
  CU(cuCtxPushCurrent_v2(second));
  const CuStream there = stream();
  CU(cuCtxPopCurrent_v2(nullptr));
  const CuEvent done = event();
  EXPECT_EQ(cuEventRecord(done, there), kCuInvalidHandle);
  CU(cuEventRecord(done, here));
  CU(cuStreamWaitEvent(there, done, 0));
}

TEST_F(Handles, calls_fail_when_told_to_and_leaks_are_counted) {
  software_gpu_fail("cuStreamCreateWithPriority", 2, kCuOutOfMemory);
  CuStream made;
  CU(cuStreamCreateWithPriority(&made, 0, 0));
  EXPECT_EQ(cuStreamCreateWithPriority(&made, 0, 0), kCuOutOfMemory);
  CU(cuStreamCreateWithPriority(&made, 0, 0));
  software_gpu_inject(kSoftwareGpuLeak, 1);
  CU(cuStreamDestroy_v2(made));
  EXPECT_EQ(counters().streams_live, 2);
}

}  // namespace
}  // namespace software_gpu_test
