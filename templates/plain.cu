// Plain codes (r >= 2, any number of chains per class): encode, relay, accumulate, decode.
//
// At its first visit to a class a rank turns its r components into one symbol per visit. The first symbol
// leaves at once; those of the last r visits, the samples, are written over the components; with M > 1 chains
// the up to M - 1 symbols in between wait in `early`. Every later visit adds the message to the symbol that
// is due; the last one also decodes the r samples in place.
//
// Out of place the rank's own components are still there when it decodes. With kOwnExact a decoder of its own
// then leaves the rank's vector out of account, and the correction puts it in exactly. The padded row is
// worked on in place, and so is all of a vector that the runtime copied: there the other decoder runs.
#include "templates/elements.h"
#include "templates/wire/f32.h"

CERAR_PARAMETER int kWorkers = 2;
CERAR_PARAMETER int kTerms = 2;
CERAR_PARAMETER int kChains = 1;
CERAR_PARAMETER int kInterleave = 32;
/// [phase][visit][component] increments of beta; phases that are multiples of the number of classes have one
/// visit less.
CERAR_TABLE float kEncode[kWorkers][kTerms + kChains][kTerms] = {};
/// [phase][sample][component] weights of samples 0..M-1, and from sample M on of its difference from the one
/// M before it, the last of the same chain.
CERAR_TABLE float kDecode[kWorkers][kTerms][kTerms] = {};
/// Whether there is a decoder for vectors out of place; without one kDecode serves them too.
CERAR_PARAMETER bool kOwnExact = false;
CERAR_CONSTEXPR int kOutOfPlacePhases = kOwnExact ? kWorkers : 1, kOutOfPlaceTerms = kOwnExact ? kTerms : 1;
/// Like kDecode, and [phase][own component][component] what is added of the rank's own vector.
CERAR_TABLE float kDecodeOutOfPlace[kOutOfPlacePhases][kOutOfPlaceTerms][kOutOfPlaceTerms] = {};
CERAR_TABLE float kOwnOutOfPlace[kOutOfPlacePhases][kOutOfPlaceTerms][kOutOfPlaceTerms] = {};

/// [phase] fraction of the message added before it is rounded; sums to zero over a revolution. Without it
/// ranks that hold equal vectors would all round the same way, and their errors add up.
CERAR_TABLE float kDither[kWorkers] = {};

static_assert(kWorkers >= 2, "workers must be at least 2");
static_assert(kTerms >= 2 && kTerms <= 64, "plain codes mix 2 to 64 components");
static_assert(kChains >= 1 && kWorkers % kChains == 0, "chains must divide workers");
static_assert(kInterleave >= 4 && (kInterleave & (kInterleave - 1)) == 0,
              "interleave must be a power of two from 4");

CERAR_CONSTEXPR int kClasses = kWorkers / kChains;
/// Few coefficients are written out one by one, which saves those that are 0 or 1; many run in a loop.
CERAR_CONSTEXPR bool kWrittenOut = kTerms * (kTerms + kChains) <= 96;
static_assert(!kOwnExact || kWrittenOut, "own-exact decoding is for few terms");
/// On the GPU a thread holds all lines in registers: packs of 4 only where that leaves enough of them.
CERAR_CONSTEXPR bool kNarrow = kTerms > 8;

/// False where messages are dithered when they are converted (wire/dither.h), or not at all.
CERAR_CONSTEXPR bool dithers() {
  for (int phase = 0; phase < kWorkers; ++phase)
    if (kDither[phase] != 0) return true;
  return false;
}
CERAR_CONSTEXPR bool kDithers = dithers();

/// What joins a message: its dither and a symbol.
CERAR_DEVICE float joined(float dither, float received, float symbol) {
  return kDithers ? cerar_fma(dither, received, symbol) : symbol;
}

/// One pack of each component, or of each sample.
template <int W>
struct all_lines {
  cerar_pack<W> of[kTerms];
};

/// True when the coefficient of a component in a visit's symbol is `value` in every phase that has the visit.
CERAR_CONSTEXPR bool is_always(int visit, int component, float value) {
  for (int phase = 0; phase < kWorkers; ++phase)
    if ((visit < kTerms + kChains - 1 || phase % kClasses != 0) && kEncode[phase][visit][component] != value)
      return false;
  return true;
}

/// x += coefficient * g, at no cost where the coefficient is 0, 1 or -1 for every phase.
template <int W, int Visit, int K = 0>
CERAR_DEVICE void add_symbol(cerar_pack<W>& x, const float (&coefficients)[kTerms], const all_lines<W>& g) {
  if constexpr (K < kTerms) {
    if constexpr (is_always(Visit, K, 1.0f)) {
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] + g.of[K].at[i];
    } else if constexpr (is_always(Visit, K, -1.0f)) {
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] - g.of[K].at[i];
    } else if constexpr (!is_always(Visit, K, 0.0f)) {
      for (int i = 0; i < W; ++i) x.at[i] = cerar_fma(coefficients[K], g.of[K].at[i], x.at[i]);
    }
    add_symbol<W, Visit, K + 1>(x, coefficients, g);
  }
}

/// B combinations of all lines: number b takes line k times table[b * Row + k * Column]. Each element of each
/// line is read once for B results.
template <int W, int B, int Row, int Column>
CERAR_DEVICE void combine(const float* table, const all_lines<W>& g, cerar_pack<W> (&x)[B]) {
#if CERAR_GPU && !defined(CERAR_CONSTANT_TABLES)
  // Coefficients of the first symbol would be loaded before the loop over rows and fill all registers.
  asm volatile("" : "+l"(table));
#elif !CERAR_GPU
#pragma clang loop vectorize(assume_safety) unroll(disable)
#endif
  for (int i = 0; i < W; ++i) {
    float sum[B] = {};
#pragma unroll
    for (int k = kTerms - 1; k >= 0; --k)
#pragma unroll
      for (int b = 0; b < B; ++b) sum[b] = cerar_fma(table[b * Row + k * Column], g.of[k].at[i], sum[b]);
#pragma unroll
    for (int b = 0; b < B; ++b) x[b].at[i] = sum[b];
  }
}

/// Writes combinations 0..count-1, each `scale` times, to lines of G from `line` on.
template <int W, int Row, int Column>
CERAR_DEVICE void store_combinations(float* line, const float* table, int count, float scale,
                                     const all_lines<W>& g) {
  // Eight sums at once hide the latency of their additions; 64 terms of them would not fit the cache.
  constexpr int kBlock = CERAR_GPU || kTerms > 32 ? 4 : 8;
  int n = 0;
  for (; n + kBlock <= count; n += kBlock) {
    cerar_pack<W> x[kBlock];
    combine<W, kBlock, Row, Column>(table + n * Row, g, x);
    for (int b = 0; b < kBlock; ++b) {
      for (int i = 0; i < W; ++i) x[b].at[i] = x[b].at[i] * scale;
      cerar_store<W>(line + (n + b) * kInterleave, x[b]);
    }
  }
  for (; n < count; ++n) {
    cerar_pack<W> x[1];
    combine<W, 1, Row, Column>(table + n * Row, g, x);
    for (int i = 0; i < W; ++i) x[0].at[i] = x[0].at[i] * scale;
    cerar_store<W>(line + n * kInterleave, x[0]);
  }
}

/// Writes the symbols of visits Visit..End-1 to lines of G from `line` on.
template <int W, int Visit, int End>
CERAR_DEVICE void store_symbols(float* line, int phase, const all_lines<W>& g) {
  if constexpr (!kWrittenOut) {
    store_combinations<W, kTerms, 1>(line, kEncode[phase][Visit], End - Visit, 1.0f, g);
  } else if constexpr (Visit < End) {
    cerar_pack<W> x = {};
    add_symbol<W, Visit>(x, kEncode[phase][Visit], g);
    cerar_store<W>(line, x);
    store_symbols<W, Visit + 1, End>(line + kInterleave, phase, g);
  }
}

/// Line of the early symbols of a row; they end where the samples begin, whatever the phase.
CERAR_DEVICE float* early_line(const cerar_visit_arguments& a, long long offset, long long row, int sample) {
  return a.early + ((offset / kInterleave + row) * (kChains - 1) + (kChains - 1 + sample)) * kInterleave;
}

/// First visit. `First`: number of the visit that brings the first sample; 0 for phase 0 of a single chain,
/// whose first visit comes when the message already holds every worker.
template <int W, bool Receives, int First>
CERAR_DEVICE void encode_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                              float* slots, long long offset, long long elements) {
  const int phase = a.phase;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long line = row * (kTerms * kInterleave) + lane;
    const long long at = row * kInterleave + lane;
    all_lines<W> g;
    for (int k = 0; k < kTerms; ++k) g.of[k] = cerar_load<W>(input + line + k * kInterleave);
    cerar_pack<W> x[1] = {};
    if constexpr (kWrittenOut)
      add_symbol<W, 0>(x[0], kEncode[phase][0], g);
    else
      combine<W, 1, kTerms, 1>(kEncode[phase][0], g, x);
    if constexpr (Receives) {
      const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
      for (int i = 0; i < W; ++i) x[0].at[i] = received.at[i] + x[0].at[i];
    }
    cerar_send<W>(to, at, elements, a.message_as, x[0]);
    if constexpr (First == 0) {
      cerar_store<W>(slots + line, x[0]);
      store_symbols<W, 1, kTerms>(slots + line + kInterleave, phase, g);
    } else {
      if constexpr (First > 1)
        store_symbols<W, 1, First>(early_line(a, offset, row, 1 - First) + lane, phase, g);
      store_symbols<W, First, First + kTerms>(slots + line, phase, g);
    }
  }
}

/// A visit between the first one and the samples.
template <int W>
CERAR_DEVICE void relay_part(const cerar_visit_arguments& a, const void* from, void* to, const float*, float*,
                             long long offset, long long elements) {
  const int sample = a.sample;
  const float dither = kDither[a.phase];
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long at = row * kInterleave + lane;
    const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
    cerar_pack<W> x = cerar_load<W>(early_line(a, offset, row, sample) + lane);
    for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + joined(dither, received.at[i], x.at[i]);
    cerar_send<W>(to, at, elements, a.message_as, x);
  }
}

template <int W>
CERAR_DEVICE void accumulate_part(const cerar_visit_arguments& a, const void* from, void* to, const float*,
                                  float* slots, long long, long long elements) {
  const float dither = kDither[a.phase];
  float* const first = slots + a.sample * kInterleave;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long at = row * kInterleave + lane;
    float* const slot = first + row * (kTerms * kInterleave) + lane;
    const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
    cerar_pack<W> x = cerar_load<W>(slot);
    for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + joined(dither, received.at[i], x.at[i]);
    cerar_store<W>(slot, x);
    cerar_send<W>(to, at, elements, a.message_as, x);
  }
}

template <bool Apart>
CERAR_DEVICE const float* decoder_of(int phase) {
  if constexpr (Apart)
    return kDecodeOutOfPlace[phase][0];
  else
    return kDecode[phase][0];
}

/// `Apart`: the rank's own components are in `input`, apart from the samples.
template <int W, bool Forwards, bool Apart>
CERAR_DEVICE void decode_rows(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                              float* slots, long long elements) {
  const int phase = a.phase;
  const float dither = kDither[phase];
  const float* const weight = decoder_of<Apart>(phase);
  const float scale = 1.0f / a.divisor;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long at = row * kInterleave + lane;
    const long long line = row * (kTerms * kInterleave) + lane;
    float* const slot = slots + line;
    all_lines<W> z, g = {};
    for (int s = 0; s < kTerms; ++s) z.of[s] = cerar_load<W>(slot + s * kInterleave);
    const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
    for (int i = 0; i < W; ++i)
      z.of[kTerms - 1].at[i] = received.at[i] + joined(dither, received.at[i], z.of[kTerms - 1].at[i]);
    if constexpr (Forwards) cerar_send<W>(to, at, elements, a.message_as, z.of[kTerms - 1]);
    // Behind the message: converting one needs registers too.
    if constexpr (Apart)
      for (int m = 0; m < kTerms; ++m) g.of[m] = cerar_load<W>(input + line + m * kInterleave);
    for (int s = kTerms - 1; s >= kChains; --s)
      for (int i = 0; i < W; ++i) z.of[s].at[i] = z.of[s].at[i] - z.of[s - kChains].at[i];
    if constexpr (!kWrittenOut) {
      store_combinations<W, 1, kTerms>(slot, weight, kTerms, scale, z);
    } else {
      for (int k = 0; k < kTerms; ++k) {
        cerar_pack<W> sum;
        // Added to 0, so that a weight of -1 makes no negative zeros.
        for (int i = 0; i < W; ++i)
          sum.at[i] = cerar_fma(weight[(kTerms - 1) * kTerms + k], z.of[kTerms - 1].at[i], 0.0f);
        for (int s = kTerms - 2; s >= 0; --s)
          for (int i = 0; i < W; ++i) sum.at[i] = cerar_fma(weight[s * kTerms + k], z.of[s].at[i], sum.at[i]);
        if constexpr (Apart)
          for (int m = 0; m < kTerms; ++m)
            for (int i = 0; i < W; ++i)
              sum.at[i] = cerar_fma(kOwnOutOfPlace[phase][m][k], g.of[m].at[i], sum.at[i]);
        for (int i = 0; i < W; ++i) sum.at[i] = sum.at[i] * scale;
        cerar_store<W>(slot + k * kInterleave, sum);
      }
    }
  }
}

template <int W, bool Forwards>
CERAR_DEVICE void decode_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                              float* slots, long long, long long elements) {
  if (kOwnExact && input != slots)
    decode_rows<W, Forwards, true>(a, from, to, input, slots, elements);
  else
    decode_rows<W, Forwards, false>(a, from, to, input, slots, elements);
}

/// The first visits of most phases come M visits before their samples, those of multiples of Q one less.
template <bool Receives, int First>
CERAR_DEVICE void run_encode(const cerar_visit_arguments& a) {
  if constexpr (kWrittenOut)
    CERAR_RUN(encode_part, a, Receives, First);
  else
    CERAR_RUN_MANY(encode_part, a, kNarrow, Receives, First);
}

template <bool Forwards>
CERAR_DEVICE void run_decode(const cerar_visit_arguments& a) {
  if constexpr (kWrittenOut)
    CERAR_RUN(decode_part, a, Forwards);
  else
    CERAR_RUN_MANY(decode_part, a, kNarrow, Forwards);
}

CERAR_KERNEL encode(cerar_visit_arguments a) {
  if (kClasses == 1)  // dense: every phase begins at t = 1
    run_encode<false, kChains - 1>(a);
  else if (a.phase % kClasses == 0)
    run_encode<true, kChains - 1>(a);
  else if (a.received)
    run_encode<true, kChains>(a);
  else
    run_encode<false, kChains>(a);
}

CERAR_KERNEL relay(cerar_visit_arguments a) { CERAR_RUN(relay_part, a); }

CERAR_KERNEL accumulate(cerar_visit_arguments a) { CERAR_RUN(accumulate_part, a); }

CERAR_KERNEL decode(cerar_visit_arguments a) {
  if (a.message)
    run_decode<true>(a);
  else
    run_decode<false>(a);
}

CERAR_KERNEL widen(cerar_convert_arguments a) { cerar_widen_vector(a); }

CERAR_KERNEL narrow(cerar_convert_arguments a) { cerar_narrow_vector(a); }
