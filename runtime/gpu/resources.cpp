#include "runtime/gpu/resources.h"

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace cerar::runtime {

DeviceBuffer::DeviceBuffer(DeviceHandle device, std::uint64_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  if (bytes == 0) return;
  const OnDevice current(*device_);
  const CuResult result = driver().cuMemAlloc_v2(&address_, bytes);
  if (result == kCuOutOfMemory)
    throw Error(ErrorCode::system,
                fmt::format("device {} has no {} bytes left for messages; use smaller vectors.",
                            device_->ordinal(), bytes));
  check(result, "allocating {} bytes on device {}", bytes, device_->ordinal());
}

DeviceBuffer::~DeviceBuffer() {
  if (!address_) return;
  try {
    const OnDevice current(*device_);
    driver().cuMemFree_v2(address_);
  } catch (...) {  // a lost device takes its memory with it
  }
}

DeviceStream::DeviceStream(DeviceHandle device)
    : DeviceResource(std::move(device), &Driver::cuStreamDestroy_v2) {
  const OnDevice current(*device_);
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "asking for priorities of streams");
  check(driver().cuStreamCreateWithPriority(&handle_, kCuStreamNonBlocking, greatest),
        "creating a stream on device {}", device_->ordinal());
}

DeviceEvent::DeviceEvent(DeviceHandle device)
    : DeviceResource(std::move(device), &Driver::cuEventDestroy_v2) {
  const OnDevice current(*device_);
  check(driver().cuEventCreate(&handle_, kCuEventDisableTiming), "creating an event on device {}",
        device_->ordinal());
}

DeviceModule::DeviceModule(DeviceHandle device, const std::string& image, const std::string& name)
    : DeviceResource(std::move(device), &Driver::cuModuleUnload), name_(name) {
  const OnDevice current(*device_);
  const CuResult result = driver().cuModuleLoadData(&handle_, image.data());
  if (result == kCuInvalidImage || result == kCuNoBinaryForGpu || result == kCuInvalidSource ||
      (result >= kCuInvalidPtx && result <= kCuJitCompilationDisabled)) {
    // What an older driver says of the cubins and the PTX of a newer toolkit as well.
    int version = 0;
    driver().cuDriverGetVersion(&version);
    throw Error(
        ErrorCode::invalid_plan,
        fmt::format("{} cannot be loaded on device {} ({}, {}, driver for CUDA {}.{}): {}; run cerar-tune "
                    "with --arch {} and a CUDA toolkit that is not newer than the driver.",
                    name, device_->ordinal(), device_->name(), device_->architecture(), version / 1000,
                    version % 1000 / 10, words_of(result), device_->architecture()));
  }
  check(result, "loading {} on device {}", name, device_->ordinal());
}

CuFunction DeviceModule::function(const std::string& entry) const {
  CuFunction function = nullptr;
  const OnDevice current(*device_);
  const CuResult result = driver().cuModuleGetFunction(&function, handle_, entry.c_str());
  if (result == kCuNotFound)
    throw Error(ErrorCode::invalid_plan,
                fmt::format("{} lacks the kernel {}; run cerar-tune again.", name_, entry));
  check(result, "finding {} in {}", entry, name_);
  return function;
}

void record(const DeviceEvent& event, CuStream stream) {
  check(driver().cuEventRecord(event.get(), stream), "recording an event");
}

void wait(CuStream stream, const DeviceEvent& event) {
  check(driver().cuStreamWaitEvent(stream, event.get(), 0), "making a stream wait for an event");
}

}  // namespace cerar::runtime
