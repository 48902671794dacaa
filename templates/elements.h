#pragma once

#include "templates/cerar_kernel.h"

// Elements of vectors in 16 bits, rounded to nearest, ties to even. The hosts' f16 is integer arithmetic that
// every compiler vectorises; those of Debian 12 know _Float16 only on some machines.

CERAR_DEVICE unsigned short cerar_to_bf16(float value) {
  const unsigned bits = cerar_bits(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;  // rounding could carry it to an infinity
  return (unsigned short)((is_nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

CERAR_DEVICE float cerar_from_bf16(unsigned short half) { return cerar_float((unsigned)half << 16); }

CERAR_DEVICE unsigned short cerar_to_f16(float value) {
#if CERAR_GPU
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  const unsigned bits = cerar_bits(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // 65520 and up round to infinity
  if (rest < 0x38800000u)  // subnormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded
    return (unsigned short)(sign | (cerar_bits(cerar_float(rest) + 0.5f) - 0x3f000000u));
  return (unsigned short)(sign | ((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13));
#endif
}

CERAR_DEVICE float cerar_from_f16(unsigned short half) {
#if CERAR_GPU
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  const unsigned sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
  // As f32 bits the exponent is too small by 112; the multiplication also normalises subnormal numbers.
  const float magnitude =
      rest >= 0x7c00u ? cerar_float(0x7f800000u | (rest & 0x3ffu) << 13) : cerar_float(rest << 13) * 0x1p112f;
  return cerar_float(sign | cerar_bits(magnitude));
#endif
}

template <bool Bf16>
CERAR_DEVICE unsigned short cerar_to_half(float value) {
  return Bf16 ? cerar_to_bf16(value) : cerar_to_f16(value);
}
template <bool Bf16>
CERAR_DEVICE float cerar_from_half(unsigned short half) {
  return Bf16 ? cerar_from_bf16(half) : cerar_from_f16(half);
}

/// Four neighbouring elements in 16 bits, moved by one access.
struct alignas(8) cerar_four_halves {
  unsigned short at[4];
};

template <bool Bf16, int W>
CERAR_DEVICE void cerar_widen_all(const cerar_convert_arguments& a) {
  const auto* const from = static_cast<const unsigned short*>(a.from);
  auto* const to = static_cast<float*>(a.to);
  CERAR_FOR_EACH(W, a.elements, at) {
    if constexpr (W == 4) {
      const cerar_four_halves halves = *reinterpret_cast<const cerar_four_halves*>(from + at);
      cerar_pack<4> value;
      for (int i = 0; i < 4; ++i) value.at[i] = cerar_from_half<Bf16>(halves.at[i]);
      cerar_store<4>(to + at, value);
    } else {
      to[at] = cerar_from_half<Bf16>(from[at]);
    }
  }
}

template <bool Bf16, int W>
CERAR_DEVICE void cerar_narrow_all(const cerar_convert_arguments& a) {
  const auto* const from = static_cast<const float*>(a.from);
  auto* const to = static_cast<unsigned short*>(a.to);
  CERAR_FOR_EACH(W, a.elements, at) {
    if constexpr (W == 4) {
      const cerar_pack<4> value = cerar_load<4>(from + at);
      cerar_four_halves halves;
      for (int i = 0; i < 4; ++i) halves.at[i] = cerar_to_half<Bf16>(value.at[i]);
      *reinterpret_cast<cerar_four_halves*>(to + at) = halves;
    } else {
      to[at] = cerar_to_half<Bf16>(from[at]);
    }
  }
}

/// Packs of 4 where the pointers allow and no element is left over. Hosts vectorise single elements.
CERAR_DEVICE bool cerar_in_packs(const cerar_convert_arguments& a) {
  return CERAR_GPU && a.vector_width == 4 && a.elements % 4 == 0;
}

template <bool Bf16>
CERAR_DEVICE void cerar_widen_type(const cerar_convert_arguments& a) {
  if (cerar_in_packs(a))
    cerar_widen_all<Bf16, 4>(a);
  else
    cerar_widen_all<Bf16, 1>(a);
}
template <bool Bf16>
CERAR_DEVICE void cerar_narrow_type(const cerar_convert_arguments& a) {
  if (cerar_in_packs(a))
    cerar_narrow_all<Bf16, 4>(a);
  else
    cerar_narrow_all<Bf16, 1>(a);
}

CERAR_DEVICE void cerar_widen_vector(const cerar_convert_arguments& a) {
  if (a.is_bf16)
    cerar_widen_type<true>(a);
  else
    cerar_widen_type<false>(a);
}
CERAR_DEVICE void cerar_narrow_vector(const cerar_convert_arguments& a) {
  if (a.is_bf16)
    cerar_narrow_type<true>(a);
  else
    cerar_narrow_type<false>(a);
}
