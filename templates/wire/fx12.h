#pragma once

#include "templates/wire/dither.h"

/// Messages of 12-bit integers with a scale per block: the low bytes of all elements, then their upper four
/// bits, two elements to a byte.
CERAR_CONSTEXPR int kLargest = 2047;
CERAR_CONSTEXPR int kMostOfBlock = 128;

CERAR_DEVICE long long cerar_integer_bytes(long long elements) { return elements + elements / 2; }

/// The integer of a low byte and four bits above it.
CERAR_DEVICE int cerar_join(int low, int high) { return (int)((unsigned)(high << 8 | low) << 20) >> 20; }

#if CERAR_GPU
struct cerar_integers {
  int at[4];
};

CERAR_DEVICE cerar_integers cerar_get(const void* part, long long elements, long long at) {
  const auto* const bytes = static_cast<const unsigned char*>(part);
  const unsigned low = *reinterpret_cast<const unsigned*>(bytes + at);
  const unsigned high = *reinterpret_cast<const unsigned short*>(bytes + elements + at / 2);
  cerar_integers q;
  for (int i = 0; i < 4; ++i) q.at[i] = cerar_join(low >> 8 * i & 255, high >> 4 * i & 15);
  return q;
}
CERAR_DEVICE void cerar_put(void* part, long long elements, long long at, const cerar_integers& q) {
  auto* const bytes = static_cast<unsigned char*>(part);
  unsigned low = 0, high = 0;
  for (int i = 0; i < 4; ++i) {
    low |= ((unsigned)q.at[i] & 255u) << 8 * i;
    high |= ((unsigned)q.at[i] >> 8 & 15u) << 4 * i;
  }
  *reinterpret_cast<unsigned*>(bytes + at) = low;
  *reinterpret_cast<unsigned short*>(bytes + elements + at / 2) = (unsigned short)high;
}
#else
// Two integers at a time where bits move between elements and bytes: no element changes its place then.
template <class Take>
CERAR_DEVICE void cerar_get(const void* part, long long elements, long long at, int count, Take take) {
  const auto* const low = static_cast<const unsigned char*>(part) + at;
  const auto* const high = static_cast<const unsigned char*>(part) + elements + at / 2;
  unsigned upper[kMostOfBlock];
  CERAR_VECTORISED for (int i = 0; i < count / 2; ++i) {
    upper[2 * i] = (unsigned)high[i] << 28;
    upper[2 * i + 1] = (unsigned)(high[i] & 0xf0) << 24;
  }
  CERAR_VECTORISED for (int i = 0; i < count; ++i) take(i, (int)(upper[i] | (unsigned)low[i] << 20) >> 20);
}
template <class Integer>
CERAR_DEVICE void cerar_put(void* part, long long elements, long long at, int count, Integer integer) {
  auto* const low = static_cast<unsigned char*>(part) + at;
  auto* const high = static_cast<unsigned char*>(part) + elements + at / 2;
  unsigned q[kMostOfBlock];
  CERAR_VECTORISED for (int i = 0; i < count; ++i) {
    q[i] = (unsigned)integer(i);
    low[i] = (unsigned char)q[i];
  }
  CERAR_VECTORISED for (int i = 0; i < count / 2; ++i) {
    const unsigned long long both = q[2 * i] | (unsigned long long)q[2 * i + 1] << 32;
    high[i] = (unsigned char)((both >> 8 & 15) | (both >> 36 & 0xf0));
  }
}
#endif

#include "templates/wire/blocks.h"
