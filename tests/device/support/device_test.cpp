#include "tests/device/support/device_test.h"

#include <cstdlib>

#include "tests/device/support/device_ranks.h"
#include "tests/software_gpu/software_nccl.h"

namespace cerar::test {

using namespace runtime;

SoftwareGpuCounters counted() {
  SoftwareGpuCounters counters{};
  software_gpu_counters(&counters);
  return counters;
}

void DeviceTest::start_anew() {
  setenv("SOFTWARE_GPU_DEVICES", "8", 0);
  software_gpu_reset();
  software_nccl_reset();
  software_gpu_delays(20, 1);
  require_driver(cuInit(0), "cuInit");
  int devices = 0;
  require_driver(cuDeviceGetCount(&devices), "cuDeviceGetCount");
  contexts_.resize(static_cast<std::size_t>(devices));
  for (int device = 0; device < devices; ++device)
    require_driver(cuDevicePrimaryCtxRetain(&contexts_[static_cast<std::size_t>(device)], device),
                   "cuDevicePrimaryCtxRetain");
}

void DeviceTest::TearDown() {
  expect_nothing_left();
  EXPECT_EQ(counted().illegal_accesses, 0);
  EXPECT_EQ(counted().guard_faults, 0);
  for (int device = 0; device < static_cast<int>(contexts_.size()); ++device)
    cuDevicePrimaryCtxRelease_v2(device);
  EXPECT_EQ(counted().contexts_live, 0);
}

void DeviceTest::expect_nothing_left() {
  const SoftwareGpuCounters counters = counted();
  EXPECT_EQ(counters.allocations_live, 0);
  EXPECT_EQ(counters.streams_live, 0);
  EXPECT_EQ(counters.events_live, 0);
  EXPECT_EQ(counters.modules_live, 0);
  EXPECT_EQ(counters.graphs_live, 0);
  EXPECT_EQ(software_nccl_communicators(), 0);
  EXPECT_EQ(software_nccl_registrations(), 0);
  EXPECT_EQ(software_nccl_misuses(), 0);
}

}  // namespace cerar::test
