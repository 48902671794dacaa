#pragma once

#include "templates/cerar_kernel.h"

/// Messages of 8-bit integers with a scale per block.
CERAR_CONSTEXPR int kLargest = 127;

CERAR_DEVICE long long cerar_integer_bytes(long long elements) { return elements; }

#if CERAR_GPU
struct cerar_integers {
  int at[4];
};
struct alignas(4) cerar_four_bytes {
  signed char at[4];
};

CERAR_DEVICE cerar_integers cerar_get(const void* part, long long, long long at) {
  const cerar_four_bytes stored =
      *reinterpret_cast<const cerar_four_bytes*>(static_cast<const signed char*>(part) + at);
  return {{stored.at[0], stored.at[1], stored.at[2], stored.at[3]}};
}
CERAR_DEVICE void cerar_put(void* part, long long, long long at, const cerar_integers& q) {
  *reinterpret_cast<cerar_four_bytes*>(static_cast<signed char*>(part) + at) = {
      {(signed char)q.at[0], (signed char)q.at[1], (signed char)q.at[2], (signed char)q.at[3]}};
}
#else
CERAR_DEVICE void cerar_get(const void* part, long long, long long at, int count, int* q) {
  const signed char* const from = static_cast<const signed char*>(part) + at;
  for (int i = 0; i < count; ++i) q[i] = from[i];
}
CERAR_DEVICE void cerar_put(void* part, long long, long long at, int count, const int* q) {
  signed char* const to = static_cast<signed char*>(part) + at;
  for (int i = 0; i < count; ++i) to[i] = (signed char)q[i];
}
#endif

#include "templates/wire/blocks.h"
