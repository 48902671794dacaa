#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "templates/visit_arguments.h"
#include "tests/software_gpu/application.h"
#include "tests/software_gpu/plain_cubin.h"
#include "tests/software_gpu/software_gpu.h"

namespace software_gpu_test {

using namespace cerar::runtime;

#define CU(call) ASSERT_EQ(call, kCuSuccess)

/// Device 0 with the tests' kernels; everything is forgotten at the end of a test.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    software_gpu_delays(200, 1);
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context_, 0));
    CU(cuCtxPushCurrent_v2(context_));
    plan_ = testing::TempDir() + "software-gpu-XXXXXX";
    ASSERT_TRUE(mkdtemp(plan_.data()));
    cubin_ = plain_plan(plan_, "tests", 80, {"software_scale", "software_overrun", "software_absent"},
                        SOFTWARE_GPU_TEST_KERNELS);
    ASSERT_EQ(software_gpu_use(plan_.c_str()), 1);
    CU(cuModuleLoadData(&module_, cubin_.data()));
    CU(cuModuleGetFunction(&scale_, module_, "software_scale"));
  }
  void TearDown() override {
    software_gpu_reset();
    std::filesystem::remove_all(plan_);
  }

  CuAddress allocate(std::size_t elements) {
    CuAddress address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, elements * sizeof(float)), kCuSuccess);
    return address;
  }
  CuStream stream(unsigned flags = kCuStreamNonBlocking) {
    CuStream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, flags), kCuSuccess);
    return made;
  }
  CuEvent event() {
    CuEvent made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, kCuEventDisableTiming), kCuSuccess);
    return made;
  }
  CuResult launch(CuFunction function, CuAddress from, CuAddress to, std::size_t elements, float factor,
                  CuStream on) {
    cerar_visit_arguments arguments{};
    arguments.input = reinterpret_cast<const float*>(from);
    arguments.slots = reinterpret_cast<float*>(to);
    arguments.elements = static_cast<long long>(elements);
    arguments.divisor = factor;
    arguments.vector_width = 1;
    void* parameters[] = {&arguments};
    return cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, on, parameters, nullptr);
  }
  CuResult scale(CuAddress from, CuAddress to, std::size_t elements, float factor, CuStream on) {
    return launch(scale_, from, to, elements, factor, on);
  }
  void put(CuAddress to, const std::vector<float>& values, CuStream on) {
    CU(cuMemcpyHtoDAsync_v2(to, values.data(), values.size() * sizeof(float), on));
  }
  std::vector<float> get(CuAddress from, std::size_t elements, CuStream on) {
    std::vector<float> values(elements);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(values.data(), from, elements * sizeof(float), on), kCuSuccess);
    EXPECT_EQ(cuStreamSynchronize(on), kCuSuccess);
    return values;
  }
  SoftwareGpuCounters counters() {
    SoftwareGpuCounters now;
    software_gpu_counters(&now);
    return now;
  }

  CuContext context_ = nullptr;
  CuModule module_ = nullptr;
  CuFunction scale_ = nullptr;
  std::string plan_, cubin_;
};

}  // namespace software_gpu_test
