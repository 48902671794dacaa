// Plain codes with one chain per class (c = rN, r >= 2): encode, accumulate, decode.
//
// At its first visit to a class a rank turns its r components into one symbol per visit, written over the
// components (the first symbol leaves at once). Every later visit adds the message to the symbol that is due;
// the last one also decodes the r samples in place.
#include "templates/wire/f32.h"

CERAR_PARAMETER int kWorkers = 2;
CERAR_PARAMETER int kTerms = 2;
CERAR_PARAMETER int kInterleave = 32;
/// [phase][visit][component] increments of beta; phase 0 has one visit less.
CERAR_PARAMETER float kEncode[kWorkers][kTerms + 1][kTerms] = {};
/// [phase][sample][component] weights of the first sample and of the differences that follow it.
CERAR_PARAMETER float kDecode[kWorkers][kTerms][kTerms] = {};

/// [phase] fraction of the message added before it is rounded; sums to zero over a revolution. Without it
/// ranks that hold equal vectors would all round the same way, and their errors add up.
CERAR_PARAMETER float kDither[kWorkers] = {};

static_assert(kWorkers >= 2, "workers must be at least 2");
static_assert(kTerms >= 2, "plain codes mix at least 2 components");
static_assert(kInterleave >= 4 && (kInterleave & (kInterleave - 1)) == 0,
              "interleave must be a power of two from 4");

template <int W>
struct components {
  cerar_pack<W> of[kTerms];
};

/// True when the coefficient of a component in a visit's symbol is `value` in every phase that has the visit.
CERAR_CONSTEXPR bool is_always(int visit, int component, float value) {
  for (int phase = visit < kTerms ? 0 : 1; phase < kWorkers; ++phase)
    if (kEncode[phase][visit][component] != value) return false;
  return true;
}

/// x += coefficient * g, at no cost where the coefficient is 0 or 1 for every phase.
template <int W, int Visit, int K = 0>
CERAR_DEVICE void add_symbol(cerar_pack<W>& x, const float (&coefficients)[kTerms], const components<W>& g) {
  if constexpr (K < kTerms) {
    if constexpr (is_always(Visit, K, 1.0f)) {
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] + g.of[K].at[i];
    } else if constexpr (!is_always(Visit, K, 0.0f)) {
      for (int i = 0; i < W; ++i) x.at[i] = cerar_fma(coefficients[K], g.of[K].at[i], x.at[i]);
    }
    add_symbol<W, Visit, K + 1>(x, coefficients, g);
  }
}

/// Writes the symbols of visits Visit.. to the slots from `slot` on.
template <int W, int Visit, int End>
CERAR_DEVICE void store_symbols(float* slot, int phase, const components<W>& g) {
  if constexpr (Visit < End) {
    cerar_pack<W> x = {};
    add_symbol<W, Visit>(x, kEncode[phase][Visit], g);
    cerar_store<W>(slot, x);
    store_symbols<W, Visit + 1, End>(slot + kInterleave, phase, g);
  }
}

/// First visit. `Samples`: phase 0, whose first visit comes when the message already holds every worker.
template <int W, bool Receives, bool Samples>
CERAR_DEVICE void encode_part(const cerar_visit_arguments& a, const float* input, float* slots,
                              long long offset, long long elements) {
  const void* const from = a.received;
  void* const to = a.message;
  const int phase = a.phase;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long line = row * (kTerms * kInterleave) + lane;
    const long long at = offset + row * kInterleave + lane;
    components<W> g;
    for (int k = 0; k < kTerms; ++k) g.of[k] = cerar_load<W>(input + line + k * kInterleave);
    cerar_pack<W> x = {};
    add_symbol<W, 0>(x, kEncode[phase][0], g);
    if constexpr (Receives) {
      const cerar_pack<W> received = cerar_receive<W>(from, at);
      for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + x.at[i];
    }
    cerar_send<W>(to, at, x);
    if constexpr (Samples) {
      cerar_store<W>(slots + line, x);
      store_symbols<W, 1, kTerms>(slots + line + kInterleave, phase, g);
    } else {
      store_symbols<W, 1, kTerms + 1>(slots + line, phase, g);
    }
  }
}

template <int W>
CERAR_DEVICE void accumulate_part(const cerar_visit_arguments& a, const float*, float* slots,
                                  long long offset, long long elements) {
  const void* const from = a.received;
  void* const to = a.message;
  const float dither = kDither[a.phase];
  float* const first = slots + a.sample * kInterleave;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long at = offset + row * kInterleave + lane;
    float* const slot = first + row * (kTerms * kInterleave) + lane;
    const cerar_pack<W> received = cerar_receive<W>(from, at);
    cerar_pack<W> x = cerar_load<W>(slot);
    for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + cerar_fma(dither, received.at[i], x.at[i]);
    cerar_store<W>(slot, x);
    cerar_send<W>(to, at, x);
  }
}

template <int W, bool Forwards>
CERAR_DEVICE void decode_part(const cerar_visit_arguments& a, const float*, float* slots, long long offset,
                              long long elements) {
  const void* const from = a.received;
  void* const to = a.message;
  const int phase = a.phase;
  const float dither = kDither[phase];
  const float scale = 1.0f / a.divisor;
  float weight[kTerms][kTerms];
  for (int s = 0; s < kTerms; ++s)
    for (int k = 0; k < kTerms; ++k) weight[s][k] = kDecode[phase][s][k] * scale;
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane, (void)0) {
    const long long at = offset + row * kInterleave + lane;
    float* const slot = slots + row * (kTerms * kInterleave) + lane;
    components<W> z;
    for (int s = 0; s < kTerms; ++s) z.of[s] = cerar_load<W>(slot + s * kInterleave);
    const cerar_pack<W> received = cerar_receive<W>(from, at);
    for (int i = 0; i < W; ++i)
      z.of[kTerms - 1].at[i] = received.at[i] + cerar_fma(dither, received.at[i], z.of[kTerms - 1].at[i]);
    if constexpr (Forwards) cerar_send<W>(to, at, z.of[kTerms - 1]);
    for (int s = kTerms - 1; s > 0; --s)
      for (int i = 0; i < W; ++i) z.of[s].at[i] = z.of[s].at[i] - z.of[s - 1].at[i];
    for (int k = 0; k < kTerms; ++k) {
      cerar_pack<W> sum;
      for (int i = 0; i < W; ++i) sum.at[i] = weight[kTerms - 1][k] * z.of[kTerms - 1].at[i];
      for (int s = kTerms - 2; s >= 0; --s)
        for (int i = 0; i < W; ++i) sum.at[i] = cerar_fma(weight[s][k], z.of[s].at[i], sum.at[i]);
      cerar_store<W>(slot + k * kInterleave, sum);
    }
  }
}

CERAR_KERNEL encode(cerar_visit_arguments a) {
  if (!a.received)
    CERAR_RUN(encode_part, a, false, false);
  else if (a.phase == 0)
    CERAR_RUN(encode_part, a, true, true);
  else
    CERAR_RUN(encode_part, a, true, false);
}

CERAR_KERNEL accumulate(cerar_visit_arguments a) { CERAR_RUN(accumulate_part, a); }

CERAR_KERNEL decode(cerar_visit_arguments a) {
  if (a.message)
    CERAR_RUN(decode_part, a, true);
  else
    CERAR_RUN(decode_part, a, false);
}
