#pragma once

// Messages of two bytes per element; the wire's own header says how one element is converted, in
//   cerar_narrow(float) -> unsigned short    and    cerar_widen(unsigned short) -> float
// Elements are multiplied by the message's gain, a power of two, and divided by it again.

CERAR_DEVICE long long cerar_part_bytes(long long elements) { return elements * 2; }

CERAR_DEVICE float cerar_as_sent(float value, float gain) {
  return cerar_widen(cerar_narrow(value * gain)) * (1.0f / gain);
}

#if CERAR_GPU
template <int W>
struct alignas(W * sizeof(short)) cerar_halves {
  unsigned short at[W];
};

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* part, long long at, long long, float gain) {
  const cerar_halves<W> bits =
      *reinterpret_cast<const cerar_halves<W>*>(static_cast<const unsigned short*>(part) + at);
  cerar_pack<W> value;
  for (int i = 0; i < W; ++i) value.at[i] = cerar_widen(bits.at[i]) * (1.0f / gain);
  return value;
}

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_settle(void* part, long long at, long long, float gain,
                                        const cerar_pack<W>& value) {
  cerar_halves<W> bits;
  cerar_pack<W> sent;
  for (int i = 0; i < W; ++i) {
    bits.at[i] = cerar_narrow(value.at[i] * gain);
    sent.at[i] = cerar_widen(bits.at[i]) * (1.0f / gain);
  }
  *reinterpret_cast<cerar_halves<W>*>(static_cast<unsigned short*>(part) + at) = bits;
  return sent;
}

template <int W>
CERAR_DEVICE void cerar_pass(const void* from, void* to, long long at, long long) {
  *reinterpret_cast<cerar_halves<W>*>(static_cast<unsigned short*>(to) + at) =
      *reinterpret_cast<const cerar_halves<W>*>(static_cast<const unsigned short*>(from) + at);
}
#else
#define CERAR_STAGED 1
CERAR_DEVICE void cerar_decode(const void* part, long long, long long first, int count, float gain,
                               float* to) {
  const auto* const from = static_cast<const unsigned short*>(part) + first;
  const float inverse = 1.0f / gain;
  for (int i = 0; i < count; ++i) to[i] = cerar_widen(from[i]) * inverse;
}

CERAR_DEVICE void cerar_encode(void* part, long long, long long first, int count, float gain,
                               const float* from) {
  auto* const to = static_cast<unsigned short*>(part) + first;
  for (int i = 0; i < count; ++i) to[i] = cerar_narrow(from[i] * gain);
}
#endif

#include "templates/run.h"
