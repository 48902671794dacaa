#include "runtime/plan/elements.h"

#include <cstring>

// The kernels' own conversions, as internal functions of this file.
#define CERAR_KERNEL [[maybe_unused]] static void
namespace {
#include "templates/elements.h"
}  // namespace

namespace cerar::runtime {

void widen(DataType type, const void* vector, std::uint64_t first, std::uint64_t count, float* to) {
  if (type == DataType::f32) {
    if (count > 0) std::memcpy(to, static_cast<const float*>(vector) + first, count * sizeof(float));
    return;
  }
  cerar_widen_vector({.from = static_cast<const std::uint16_t*>(vector) + first,
                      .to = to,
                      .elements = static_cast<long long>(count),
                      .is_bf16 = type == DataType::bf16,
                      .vector_width = 1});
}

void narrow(DataType type, const float* from, std::uint64_t count, void* vector, std::uint64_t first) {
  if (type == DataType::f32) {
    if (count > 0) std::memcpy(static_cast<float*>(vector) + first, from, count * sizeof(float));
    return;
  }
  cerar_narrow_vector({.from = from,
                       .to = static_cast<std::uint16_t*>(vector) + first,
                       .elements = static_cast<long long>(count),
                       .is_bf16 = type == DataType::bf16,
                       .vector_width = 1});
}

double rounding_rms(DataType type) {
  switch (type) {
    case DataType::bf16:
      return 0.425 * 0x1p-8;
    case DataType::f16:
      return 0.425 * 0x1p-11;
    case DataType::f32:
      break;
  }
  return 0;
}

double result_rounding(Messages messages, const Shape& shape, Wire wire, DataType type) {
  const bool same_type =
      (wire == Wire::bf16 && type == DataType::bf16) || (wire == Wire::f16 && type == DataType::f16);
  const bool passed_on = messages == Messages::sum && shape.visits > shape.workers;
  return same_type && passed_on ? 0 : rounding_rms(type);
}

}  // namespace cerar::runtime
