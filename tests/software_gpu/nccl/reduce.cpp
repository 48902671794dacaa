#include <bit>
#include <cstdint>
#include <cstring>

#include "tests/software_gpu/nccl/communicator.h"

namespace software_nccl {
namespace {

__extension__ typedef _Float16 Half;

float load(const void* from, std::size_t i, NcclType type) {
  if (type == kNcclFloat32) return static_cast<const float*>(from)[i];
  if (type == kNcclFloat16) return static_cast<float>(static_cast<const Half*>(from)[i]);
  return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(from)[i]) << 16);
}

/// To the nearest bf16, ties to even; NaN stays NaN.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void store(void* to, std::size_t i, NcclType type, float value) {
  if (type == kNcclFloat32)
    static_cast<float*>(to)[i] = value;
  else if (type == kNcclFloat16)
    static_cast<Half*>(to)[i] = static_cast<Half>(value);
  else
    static_cast<std::uint16_t*>(to)[i] = to_bf16(value);
}

}  // namespace

std::size_t bytes_of(NcclType type) {
  switch (type) {
    case kNcclUint8:
      return 1;
    case kNcclFloat16:
    case kNcclBfloat16:
      return 2;
    case kNcclFloat32:
      return 4;
  }
  return 0;
}

void reduce(const Meeting& meeting) {
  const Task& first = meeting.tasks.begin()->second;
  const auto ranks = static_cast<float>(meeting.tasks.size());
  for (std::size_t i = 0; i < first.count; ++i) {
    float sum = 0;
    for (const auto& [rank, task] : meeting.tasks) sum += load(task.from, i, first.type);
    if (first.reduction == kNcclAverage) sum /= ranks;
    // In place or not: element i of all inputs has been read.
    for (const auto& [rank, task] : meeting.tasks) store(task.to, i, first.type, sum);
  }
}

}  // namespace software_nccl
