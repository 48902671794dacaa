#pragma once

#include "templates/cerar_kernel.h"

// Subtractive dither. Ranks that hold equal vectors, and neighbours that hold equal numbers, would all be
// rounded alike at every hop, and their errors would add up instead of averaging out. So the sender adds to
// each element a known fraction of a unit before it rounds, another one for each element and each message,
// and the receiver takes it off again: what is left is an error as of independent numbers, of the same size,
// whatever the numbers are.

/// Elements after which the fractions repeat; on the host also those that are converted at a time.
CERAR_CONSTEXPR int kStage = 512;

/// Fraction for element `at` of a part of a message, from -1/2 to 1/2, shared by four neighbours. 0 without
/// dither. Multiples of an odd number alone would be spread more evenly, but those of two messages would keep
/// step with each other.
CERAR_DEVICE float cerar_fraction(long long at, unsigned dither) {
  unsigned bits = (((unsigned)at & (kStage - 1)) / 4 + 1) * dither;
  bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
  return cerar_float(0x3f800000u | (bits ^ 0x80000000u) >> 9) - 1.5f;
}

#if !CERAR_GPU
/// Before loops that convert elements on the host: 16 at a time, which Clang would not always choose.
#define CERAR_VECTORISED _Pragma("clang loop vectorize(assume_safety) vectorize_width(16)")

/// Fills a table of kStage numbers with `make(fraction)` of the elements from a multiple of kStage on: four
/// at a time, as the fractions are.
template <class Make>
CERAR_DEVICE void cerar_fill(float* table, unsigned dither, Make make) {
  for (int at = 0; at < kStage; at += 4) {
    const float value = make(cerar_fraction(at, dither));
    for (int i = 0; i < 4; ++i) table[at + i] = value;
  }
}
#endif
