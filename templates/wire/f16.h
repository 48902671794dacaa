#pragma once

#include "templates/elements.h"

/// Messages of f16 (IEEE 754 binary16), rounded to nearest, ties to even.
CERAR_DEVICE unsigned short cerar_narrow(float value) {
#if CERAR_GPU
  return cerar_to_f16(value);
#else  // host kernels are compiled by Clang, which has the instructions
  return __builtin_bit_cast(unsigned short, (_Float16)value);
#endif
}

CERAR_DEVICE float cerar_widen(unsigned short half) {
#if CERAR_GPU
  return cerar_from_f16(half);
#else
  return (float)__builtin_bit_cast(_Float16, half);
#endif
}

#include "templates/wire/halves.h"
