#pragma once

#include "templates/cerar_kernel.h"

/// Messages of 16-bit integers with a scale per block.
CERAR_CONSTEXPR int kLargest = 32767;

CERAR_DEVICE long long cerar_integer_bytes(long long elements) { return elements * 2; }

#if CERAR_GPU
struct cerar_integers {
  int at[4];
};
struct alignas(8) cerar_four_shorts {
  short at[4];
};

CERAR_DEVICE cerar_integers cerar_get(const void* part, long long, long long at) {
  const cerar_four_shorts stored =
      *reinterpret_cast<const cerar_four_shorts*>(static_cast<const short*>(part) + at);
  return {{stored.at[0], stored.at[1], stored.at[2], stored.at[3]}};
}
CERAR_DEVICE void cerar_put(void* part, long long, long long at, const cerar_integers& q) {
  *reinterpret_cast<cerar_four_shorts*>(static_cast<short*>(part) + at) = {
      {(short)q.at[0], (short)q.at[1], (short)q.at[2], (short)q.at[3]}};
}
#else
CERAR_DEVICE void cerar_get(const void* part, long long, long long at, int count, int* q) {
  const short* const from = static_cast<const short*>(part) + at;
  for (int i = 0; i < count; ++i) q[i] = from[i];
}
CERAR_DEVICE void cerar_put(void* part, long long, long long at, int count, const int* q) {
  short* const to = static_cast<short*>(part) + at;
  for (int i = 0; i < count; ++i) to[i] = (short)q[i];
}
#endif

#include "templates/wire/blocks.h"
