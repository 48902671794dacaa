#include "runtime/gpu/device.h"

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace cerar::runtime {

Device::Device(int ordinal) : ordinal_(ordinal) {
  const Driver& d = driver();
  int devices = 0;
  check(d.cuDeviceGetCount(&devices), "counting devices");
  if (ordinal < 0 || ordinal >= devices)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("device {} does not exist; there are {}, numbered from 0.", ordinal, devices));
  check(d.cuDeviceGet(&handle_, ordinal), "opening device {}", ordinal);
  const auto attribute = [&](CuDeviceAttribute which) {
    int value = 0;
    check(d.cuDeviceGetAttribute(&value, which, handle_), "asking device {}", ordinal);
    return value;
  };
  architecture_ =
      fmt::format("sm_{}{}", attribute(kCuComputeCapabilityMajor), attribute(kCuComputeCapabilityMinor));
  multiprocessors_ = attribute(kCuMultiprocessorCount);
  char name[256] = {};
  check(d.cuDeviceGetName(name, sizeof(name) - 1, handle_), "asking device {}", ordinal);
  name_ = name;
  check(d.cuDevicePrimaryCtxRetain(&context_, handle_), "opening device {}", ordinal);
}

Device::~Device() { driver().cuDevicePrimaryCtxRelease_v2(handle_); }

OnDevice::OnDevice(const Device& device) {
  check(driver().cuCtxPushCurrent_v2(device.context()), "switching to device {}", device.ordinal());
}

OnDevice::~OnDevice() {
  CuContext before = nullptr;
  driver().cuCtxPopCurrent_v2(&before);
}

}  // namespace cerar::runtime
