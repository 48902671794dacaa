#pragma once

#include "templates/elements.h"

/// Messages of f16 (IEEE 754 binary16), rounded to nearest, ties to even.
/// Host kernels are compiled by Clang, which has the instructions where the processor has them; elsewhere it
/// would call a library.
#if CERAR_GPU || (defined(__x86_64__) && !defined(__F16C__))
#define CERAR_F16_BY_HAND 1
#endif
CERAR_DEVICE unsigned short cerar_narrow(float value) {
#if defined(CERAR_F16_BY_HAND)
  return cerar_to_f16(value);
#else
  return __builtin_bit_cast(unsigned short, (_Float16)value);
#endif
}

CERAR_DEVICE float cerar_widen(unsigned short half) {
#if defined(CERAR_F16_BY_HAND)
  return cerar_from_f16(half);
#else
  return (float)__builtin_bit_cast(_Float16, half);
#endif
}

CERAR_CONSTEXPR float kDitherSpan = 0x1p-8f;

#include "templates/wire/halves.h"
