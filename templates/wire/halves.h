#pragma once

// Messages of two bytes per element; the wire's own header says how one element is converted, in
//   cerar_narrow(float) -> unsigned short    and    cerar_widen(unsigned short) -> float
//   kDitherSpan: four units in the last place of 1, at least as many of any number
// Elements are multiplied by the message's gain, a power of two, and divided by it again. Dither is a
// fraction k of the number itself, so that zeros stay zeros: x (1 + k) is rounded, and the receiver takes it
// times 1 - k + k^2.

#include "templates/wire/dither.h"

CERAR_DEVICE long long cerar_part_bytes(long long elements) { return elements * 2; }

CERAR_DEVICE float cerar_encoder(float fraction, const cerar_rounding& as) {
  return cerar_fma(fraction * kDitherSpan, as.gain, as.gain);
}
CERAR_DEVICE float cerar_decoder(float fraction, const cerar_rounding& as) {
  const float k = fraction * kDitherSpan;
  return cerar_fma(k, k, 1.0f - k) * as.inverse;
}

CERAR_DEVICE float cerar_as_sent(float value, const cerar_rounding& as) {
  return cerar_widen(cerar_narrow(value * as.gain)) * as.inverse;
}

#if CERAR_GPU
template <int W>
struct alignas(W * sizeof(short)) cerar_halves {
  unsigned short at[W];
};

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* part, long long at, long long,
                                         const cerar_rounding& as) {
  const cerar_halves<W> bits =
      *reinterpret_cast<const cerar_halves<W>*>(static_cast<const unsigned short*>(part) + at);
  cerar_pack<W> value;
  const float decoder = cerar_decoder(cerar_fraction(at, as.dither), as);
  for (int i = 0; i < W; ++i) value.at[i] = cerar_widen(bits.at[i]) * decoder;
  return value;
}

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_settle(void* part, long long at, long long, const cerar_rounding& as,
                                        const cerar_pack<W>& value) {
  cerar_halves<W> bits;
  cerar_pack<W> sent;
  const float fraction = cerar_fraction(at, as.dither);
  const float encoder = cerar_encoder(fraction, as), decoder = cerar_decoder(fraction, as);
  for (int i = 0; i < W; ++i) {
    bits.at[i] = cerar_narrow(value.at[i] * encoder);
    sent.at[i] = cerar_widen(bits.at[i]) * decoder;
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
CERAR_DEVICE void cerar_prepare_decode(const cerar_rounding& as, float* table) {
  cerar_fill(table, as.dither, [&](float fraction) { return cerar_decoder(fraction, as); });
}
CERAR_DEVICE void cerar_prepare_encode(const cerar_rounding& as, float* table) {
  cerar_fill(table, as.dither, [&](float fraction) { return cerar_encoder(fraction, as); });
}

CERAR_DEVICE void cerar_decode(const void* part, long long, long long first, int count, const float* table,
                               float* to) {
  const auto* const from = static_cast<const unsigned short*>(part) + first;
  CERAR_VECTORISED for (int i = 0; i < count; ++i) to[i] = cerar_widen(from[i]) * table[i];
}

CERAR_DEVICE void cerar_encode(void* part, long long, long long first, int count, const cerar_rounding&,
                               const float* table, const float* from) {
  auto* const to = static_cast<unsigned short*>(part) + first;
  CERAR_VECTORISED for (int i = 0; i < count; ++i) to[i] = cerar_narrow(from[i] * table[i]);
}
#endif

#include "templates/run.h"
