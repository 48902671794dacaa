#pragma once

// Integers stored one after the other as `cerar_stored`.

#include "templates/wire/dither.h"

CERAR_DEVICE long long cerar_integer_bytes(long long elements) {
  return elements * (long long)sizeof(cerar_stored);
}

#if CERAR_GPU
struct cerar_integers {
  int at[4];
};
struct alignas(4 * sizeof(cerar_stored)) cerar_four_stored {
  cerar_stored at[4];
};

CERAR_DEVICE cerar_integers cerar_get(const void* part, long long, long long at) {
  const cerar_four_stored stored =
      *reinterpret_cast<const cerar_four_stored*>(static_cast<const cerar_stored*>(part) + at);
  return {{stored.at[0], stored.at[1], stored.at[2], stored.at[3]}};
}
CERAR_DEVICE void cerar_put(void* part, long long, long long at, const cerar_integers& q) {
  *reinterpret_cast<cerar_four_stored*>(static_cast<cerar_stored*>(part) + at) = {
      {(cerar_stored)q.at[0], (cerar_stored)q.at[1], (cerar_stored)q.at[2], (cerar_stored)q.at[3]}};
}
#else
template <class Take>
CERAR_DEVICE void cerar_get(const void* part, long long, long long at, int count, Take take) {
  const cerar_stored* const from = static_cast<const cerar_stored*>(part) + at;
  CERAR_VECTORISED for (int i = 0; i < count; ++i) take(i, from[i]);
}
template <class Integer>
CERAR_DEVICE void cerar_put(void* part, long long, long long at, int count, Integer q) {
  cerar_stored* const to = static_cast<cerar_stored*>(part) + at;
  CERAR_VECTORISED for (int i = 0; i < count; ++i) to[i] = (cerar_stored)q(i);
}
#endif

#include "templates/wire/blocks.h"
