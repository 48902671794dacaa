#pragma once

#include "templates/elements.h"

/// Messages of bf16: the upper half of an f32, rounded to nearest, ties to even.
/// A NaN is the result of a multiplication here, so quiet: it needs no more than not to be rounded away.
CERAR_DEVICE unsigned short cerar_narrow(float value) {
  const unsigned bits = cerar_bits(value), up = 0x7fffu + (bits >> 16 & 1u);
  return (unsigned short)((bits + (value == value ? up : 0)) >> 16);
}

CERAR_DEVICE float cerar_widen(unsigned short half) { return cerar_from_bf16(half); }

CERAR_CONSTEXPR float kDitherSpan = 0x1p-5f;

#include "templates/wire/halves.h"
