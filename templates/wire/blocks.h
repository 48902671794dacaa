#pragma once

// Block fixed point: blocks of CERAR_BLOCK neighbouring elements of a message share one f32 scale, the
// largest magnitude divided by the largest integer, so that the largest element fills the integer. A part of
// a message is the integers of all its elements, then the scales. The wire's own header says how integers are
// stored, in
//   kLargest, cerar_integer_bytes(elements), cerar_put(part, elements, at, q), cerar_get(part, elements, at)
// of four neighbours on the GPU, and on the host, for `count` elements of a block,
//   cerar_put(part, elements, at, count, q)        where q(i) is integer i
//   cerar_get(part, elements, at, count, take)     which calls take(i, q)
//
// An exact scale rather than a power of two: that would cost 1.4 times the noise (tuner/DESIGN.md, section
// 9). With dither the largest element leaves half a unit free, and 0 stands for zero and nothing beside it:
// zeros stay zeros.

#include "templates/wire/dither.h"

#if !defined(CERAR_BLOCK)
#define CERAR_BLOCK 128
#endif
CERAR_CONSTEXPR int kBlock = CERAR_BLOCK;
static_assert(kBlock == 32 || kBlock == 64 || kBlock == 128, "a block is shared by at most one warp");

CERAR_DEVICE long long cerar_part_bytes(long long elements) {
  return (cerar_integer_bytes(elements) + (elements + kBlock - 1) / kBlock * 4 + 15) / 16 * 16;
}

/// An element's rounding depends on its block.
CERAR_DEVICE float cerar_as_sent(float value, const cerar_rounding&) { return value; }

CERAR_DEVICE float* cerar_scales(void* part, long long elements) {
  return reinterpret_cast<float*>(static_cast<char*>(part) + cerar_integer_bytes(elements));
}
CERAR_DEVICE const float* cerar_scales(const void* part, long long elements) {
  return reinterpret_cast<const float*>(static_cast<const char*>(part) + cerar_integer_bytes(elements));
}

/// Scale of a block from the bits of its largest magnitude: NaN where an element is not finite, so that the
/// whole block arrives as NaN. One that is no normal number is rounded up, so that integers keep their range.
CERAR_DEVICE float cerar_scale(unsigned largest_bits, const cerar_rounding& as) {
  if (largest_bits >= 0x7f800000u) return cerar_float(0x7fc00000u);
  const float scale = cerar_float(largest_bits) / (as.dither ? (float)kLargest - 0.5f : (float)kLargest);
  return largest_bits == 0 || scale >= 0x1p-126f ? scale : scale + 0x1p-149f;
}

/// What elements are multiplied by; 0 where that would overflow, or there is nothing to multiply.
CERAR_DEVICE float cerar_inverse(float scale) { return scale >= 0x1p-126f ? 1.0f / scale : 0.0f; }

/// For blocks without an inverse: zeros, what is not finite, and numbers below 2^-126 times kLargest.
CERAR_DEVICE int cerar_divided(float value, float scale, float fraction) {
  return scale > 0 ? cerar_nearest(value / scale + fraction) : 0;
}

CERAR_DEVICE float cerar_restored(int q, float fraction, float scale) {
  return (q == 0 ? 0.0f : (float)q - fraction) * scale;
}

#if CERAR_GPU
template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* part, long long at, long long elements,
                                         const cerar_rounding& as) {
  static_assert(W == 4, "a block is converted by kBlock / 4 threads");
  const cerar_integers q = cerar_get(part, elements, at);
  const float scale = cerar_scales(part, elements)[at / kBlock];
  const float fraction = cerar_fraction(at, as.dither);
  cerar_pack<W> value;
  for (int i = 0; i < W; ++i) value.at[i] = cerar_restored(q.at[i], fraction, scale);
  return value;
}

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_settle(void* part, long long at, long long elements,
                                        const cerar_rounding& as, const cerar_pack<W>& value) {
  static_assert(W == 4, "a block is converted by kBlock / 4 threads");
  // Neighbouring threads hold neighbouring elements; the last warp of a part may be incomplete.
  const long long left = elements / 4 - (at / 4 & ~31LL);
  const unsigned active = left >= 32 ? ~0u : (1u << left) - 1;
  const int lane = (int)(at / 4 & 31);
  unsigned largest = 0;
  for (int i = 0; i < W; ++i) {
    const unsigned bits = cerar_bits(value.at[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  for (int step = 1; step < kBlock / 4; step *= 2) {
    const unsigned other = __shfl_xor_sync(active, largest, step);
    if ((active >> (lane ^ step) & 1) && other > largest) largest = other;
  }
  // Where lanes are missing, only the first of a block has seen all others.
  largest = __shfl_sync(active, largest, lane & ~(kBlock / 4 - 1));
  const float scale = cerar_scale(largest, as), inverse = cerar_inverse(scale);
  const float fraction = cerar_fraction(at, as.dither);
  cerar_integers q;
  cerar_pack<W> sent;
  for (int i = 0; i < W; ++i) {
    q.at[i] = inverse > 0 ? cerar_nearest(cerar_fma(value.at[i], inverse, fraction))
                          : cerar_divided(value.at[i], scale, fraction);
    sent.at[i] = cerar_restored(q.at[i], fraction, scale);
  }
  cerar_put(part, elements, at, q);
  if (at % kBlock == 0) cerar_scales(part, elements)[at / kBlock] = scale;
  return sent;
}

template <int W>
CERAR_DEVICE void cerar_pass(const void* from, void* to, long long at, long long elements) {
  cerar_put(to, elements, at, cerar_get(from, elements, at));
  if (at % kBlock == 0) cerar_scales(to, elements)[at / kBlock] = cerar_scales(from, elements)[at / kBlock];
}
#else
#define CERAR_STAGED 1
CERAR_DEVICE void cerar_prepare_decode(const cerar_rounding& as, float* table) {
  cerar_fill(table, as.dither, [](float fraction) { return fraction; });
}
CERAR_DEVICE void cerar_prepare_encode(const cerar_rounding& as, float* table) {
  cerar_prepare_decode(as, table);
}

CERAR_DEVICE void cerar_decode_block(const void* part, long long elements, long long first, int size,
                                     const float* fractions, float* to) {
  const float scale = cerar_scales(part, elements)[first / kBlock];
  cerar_get(part, elements, first, size,
            [=](int i, int q) { to[i] = cerar_restored(q, fractions[i], scale); });
}

struct cerar_block_scale {
  float scale, inverse;
};

CERAR_DEVICE cerar_block_scale cerar_scale_of(int size, const cerar_rounding& as, const float* from) {
  unsigned largest = 0;
  for (int i = 0; i < size; ++i) {
    const unsigned bits = cerar_bits(from[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  const float scale = cerar_scale(largest, as);
  return {scale, cerar_inverse(scale)};
}

CERAR_DEVICE void cerar_encode_block(void* part, long long elements, long long first, int size,
                                     const float* fractions, const cerar_block_scale& of, const float* from) {
  if (of.inverse > 0)
    cerar_put(part, elements, first, size,
              [=, by = of.inverse](int i) { return cerar_nearest(cerar_fma(from[i], by, fractions[i])); });
  else
    cerar_put(part, elements, first, size,
              [=, by = of.scale](int i) { return cerar_divided(from[i], by, fractions[i]); });
}

/// `first` is a multiple of kBlock. Loops over whole blocks have a size that the compiler knows.
CERAR_DEVICE void cerar_decode(const void* part, long long elements, long long first, int count,
                               const float* table, float* to) {
  int at = 0;
  for (; at + kBlock <= count; at += kBlock)
    cerar_decode_block(part, elements, first + at, kBlock, table + at, to + at);
  if (at < count) cerar_decode_block(part, elements, first + at, count - at, table + at, to + at);
}

/// Scales first: each waits for two divisions, and those of several blocks wait together.
CERAR_DEVICE void cerar_encode(void* part, long long elements, long long first, int count,
                               const cerar_rounding& as, const float* table, const float* from) {
  float* const scales = cerar_scales(part, elements) + first / kBlock;
  cerar_block_scale of[kStage / kBlock];
  const int blocks = count / kBlock, whole = blocks * kBlock;
  for (int block = 0; block < blocks; ++block) of[block] = cerar_scale_of(kBlock, as, from + block * kBlock);
  for (int block = 0; block < blocks; ++block) {
    const int at = block * kBlock;
    cerar_encode_block(part, elements, first + at, kBlock, table + at, of[block], from + at);
    scales[block] = of[block].scale;
  }
  if (whole == count) return;
  const cerar_block_scale last = cerar_scale_of(count - whole, as, from + whole);
  cerar_encode_block(part, elements, first + whole, count - whole, table + whole, last, from + whole);
  scales[blocks] = last.scale;
}
#endif

#include "templates/run.h"
