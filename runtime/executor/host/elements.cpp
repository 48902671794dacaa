#include "runtime/executor/host/elements.h"

#include <bit>
#include <cstring>

namespace cerar::runtime {
namespace {

// The conversions of the kernels' messages. They do without _Float16, which the C++ compilers of Debian 12
// only know on some machines.
struct Bf16 {
  static float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

  static std::uint16_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<std::uint16_t>((is_nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >>
                                      16);
  }
};

struct F16 {
  static float widen(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
    // As f32 bits the exponent is too small by 112; the multiplication also normalises subnormal numbers.
    const float magnitude = rest >= 0x7c00u ? std::bit_cast<float>(0x7f800000u | (rest & 0x3ffu) << 13)
                                            : std::bit_cast<float>(rest << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }

  static std::uint16_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (rest >= 0x477ff000u)
      return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and up round to infinity
    if (rest < 0x38800000u) {  // subnormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded
      const float shifted = std::bit_cast<float>(rest) + 0.5f;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    return static_cast<std::uint16_t>(sign | ((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13));
  }
};

template <typename Half>
void widen_all(const void* vector, std::uint64_t first, std::uint64_t count, float* to) {
  const auto* const from = static_cast<const std::uint16_t*>(vector) + first;
  for (std::uint64_t i = 0; i < count; ++i) to[i] = Half::widen(from[i]);
}

template <typename Half>
void narrow_all(const float* from, std::uint64_t count, void* vector, std::uint64_t first) {
  auto* const to = static_cast<std::uint16_t*>(vector) + first;
  for (std::uint64_t i = 0; i < count; ++i) to[i] = Half::narrow(from[i]);
}

}  // namespace

void widen(DataType type, const void* vector, std::uint64_t first, std::uint64_t count, float* to) {
  switch (type) {
    case DataType::f32:
      if (count > 0) std::memcpy(to, static_cast<const float*>(vector) + first, count * sizeof(float));
      return;
    case DataType::bf16:
      return widen_all<Bf16>(vector, first, count, to);
    case DataType::f16:
      return widen_all<F16>(vector, first, count, to);
  }
}

void narrow(DataType type, const float* from, std::uint64_t count, void* vector, std::uint64_t first) {
  switch (type) {
    case DataType::f32:
      if (count > 0) std::memcpy(static_cast<float*>(vector) + first, from, count * sizeof(float));
      return;
    case DataType::bf16:
      return narrow_all<Bf16>(from, count, vector, first);
    case DataType::f16:
      return narrow_all<F16>(from, count, vector, first);
  }
}

}  // namespace cerar::runtime
