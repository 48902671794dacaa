#include "runtime/executor/cuda/device_lane.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace cerar::runtime {

DeviceLane::DeviceLane(DeviceHandle device)
    : combined(device),
      arrived(device),
      finished(device),
      device_(device),
      kernels_(device),
      // Messages first: a kernel that is ready to run can wait, a link that is idle has lost its time.
      messages_(device, true) {}

bool DeviceLane::holds(const LaneBytes& bytes) const {
  return message_[0].bytes() >= bytes.message && early_.bytes() >= bytes.early &&
         copy_.bytes() >= bytes.copy && padded_.bytes() >= bytes.padded;
}

void DeviceLane::reserve(const LaneBytes& bytes) {
  const auto grow = [&](DeviceBuffer& buffer, std::uint64_t wanted) {
    if (buffer.bytes() >= wanted) return;
    const std::uint64_t size = std::max(wanted, buffer.bytes() + buffer.bytes() / 2);
    DeviceBuffer before = std::exchange(buffer, DeviceBuffer(device_, size));
    if (before.bytes() > 0) kept_.push_back(std::move(before));
  };
  for (auto& buffer : message_) grow(buffer, bytes.message);
  grow(early_, bytes.early);
  grow(copy_, bytes.copy);
  grow(padded_, bytes.padded);
}

void DeviceLane::finish() const noexcept {
  try {
    const OnDevice current(*device_);
    for (const auto& stream : {kernels(), messages()}) driver().cuStreamSynchronize(stream);
  } catch (const Error&) {  // a lost device
  }
}

std::uint64_t DeviceLane::bytes() const {
  std::uint64_t sum =
      message_[0].bytes() + message_[1].bytes() + early_.bytes() + copy_.bytes() + padded_.bytes();
  for (const auto& buffer : kept_) sum += buffer.bytes();
  return sum;
}

}  // namespace cerar::runtime
