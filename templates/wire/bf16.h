#pragma once

#include "templates/cerar_kernel.h"

/// Messages of bf16: the upper half of an f32, rounded to nearest, ties to even.
CERAR_DEVICE unsigned short cerar_narrow(float value) {
  const unsigned bits = cerar_bits(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;  // rounding could carry it to an infinity
  return (unsigned short)((is_nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

CERAR_DEVICE float cerar_widen(unsigned short half) { return cerar_float((unsigned)half << 16); }

#include "templates/wire/halves.h"
