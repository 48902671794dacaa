// gpu-facts: what the driver and NCCL are, as lines "key=value". Exits with 1 where there is no device.
#include <cstdio>
#include <exception>

#include "runtime/gpu/driver.h"
#include "runtime/gpu/nccl/nccl.h"
#include "tests/gpu/support/driver_extras.h"

int main() {
  using namespace cerar;
  try {
    int version = 0, devices = 0;
    runtime::driver().cuDriverGetVersion(&version);
    runtime::driver().cuDeviceGetCount(&devices);
    const runtime::Device device(0);
    std::printf("stand_in=%d\ndriver_cuda=%d.%d\ndevices=%d\nname=%s\narchitecture=%s\nmultiprocessors=%d\n",
                test::is_stand_in(), version / 1000, version % 1000 / 10, devices, device.name().c_str(),
                device.architecture().c_str(), device.multiprocessors());
  } catch (const std::exception& error) {
    std::printf("no_device=%s\n", error.what());
    return 1;
  }
  try {
    int version = 0;
    runtime::nccl().ncclGetVersion(&version);
    std::printf("nccl=%d.%d.%d\n", version / 10000, version % 10000 / 100, version % 100);
  } catch (const std::exception& error) {
    std::printf("no_nccl=%s\n", error.what());
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
