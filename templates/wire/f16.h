#pragma once

#include "templates/cerar_kernel.h"

/// Messages of f16 (IEEE 754 binary16), rounded to nearest, ties to even.
CERAR_DEVICE unsigned short cerar_narrow(float value) {
#if CERAR_GPU
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  return __builtin_bit_cast(unsigned short, (_Float16)value);
#endif
}

CERAR_DEVICE float cerar_widen(unsigned short half) {
#if CERAR_GPU
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  return (float)__builtin_bit_cast(_Float16, half);
#endif
}

#include "templates/wire/halves.h"
