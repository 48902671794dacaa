#include "runtime/gpu/executor/device_lane.h"

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
      messages_(device) {}

bool DeviceLane::holds(const LaneBytes& bytes) const {
  return message_bytes_ >= bytes.message && early_.bytes() >= bytes.early && copy_.bytes() >= bytes.copy &&
         padded_.bytes() >= bytes.padded;
}

void DeviceLane::reserve(const LaneBytes& bytes, DeviceTransport& transport) {
  const auto grown = [](std::uint64_t before, std::uint64_t wanted) {
    return std::max(wanted, before + before / 2);
  };
  const auto grow = [&](DeviceBuffer& buffer, std::uint64_t wanted) {
    if (buffer.bytes() >= wanted) return;
    DeviceBuffer before = std::exchange(buffer, DeviceBuffer(device_, grown(buffer.bytes(), wanted)));
    if (before.bytes() > 0) kept_.push_back(std::move(before));
  };
  if (message_bytes_ < bytes.message) {
    const std::uint64_t size = grown(message_bytes_, bytes.message);
    for (auto& message : message_) message = transport.message_memory(size);
    message_bytes_ = size;
    all_message_bytes_ += 2 * size;
  }
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
  std::uint64_t sum = all_message_bytes_ + early_.bytes() + copy_.bytes() + padded_.bytes();
  for (const auto& buffer : kept_) sum += buffer.bytes();
  return sum;
}

}  // namespace cerar::runtime
