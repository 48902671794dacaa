// Differential codes (c = rN, r >= 2): open, visit, close. tuner/DESIGN.md, section 6.
//
// Sample k of a class is component k of the sum plus epsilon times parts of the next two. A visit adds two or
// three components to the message and stores the sample over a component that is no longer needed; the last
// one decodes all r samples. Phase 0 (the "turn") raises the order of the message: it subtracts its own
// previous sample and divides by epsilon.
#include "templates/elements.h"
#include "templates/wire/f32.h"

CERAR_PARAMETER int kWorkers = 2;
CERAR_PARAMETER int kTerms = 2;
CERAR_PARAMETER int kInterleave = 32;
CERAR_PARAMETER bool kOwnExact = true;
CERAR_PARAMETER float kInverseEpsilon = 1;
/// [phase][component - first] contributions at visits t <= N and after.
CERAR_TABLE float kOpen[kWorkers][3] = {};
CERAR_TABLE float kExtend[kWorkers][3] = {};
/// [phase][0: k <= r-3, 1: k = r-2][component - k - 1] correction of the stored sample k.
CERAR_TABLE float kOwn[kWorkers][2][2] = {};
/// [phase][0: k <= r-3, 1: k = r-2, 2: k = r-1][sample - k] weights of component k.
CERAR_TABLE float kDecode[kWorkers][3][3] = {};

/// [phase] fraction of the message added before it is rounded; sums to zero over a revolution, and 0 for the
/// turn. Without it ranks that hold equal vectors would all round the same way, and their errors add up.
CERAR_TABLE float kDither[kWorkers] = {};

static_assert(kWorkers >= 2, "workers must be at least 2");
static_assert(kTerms >= 2, "differential codes have at least 2 components per class");
static_assert(kInterleave >= 4 && (kInterleave & (kInterleave - 1)) == 0,
              "interleave must be a power of two from 4");

CERAR_CONSTEXPR int min_of(int a, int b) { return a < b ? a : b; }

/// Components that a visit reads: two where no phase makes use of a third.
CERAR_CONSTEXPR int contributions() {
  for (int phase = 0; phase < kWorkers; ++phase)
    if (kOpen[phase][2] != 0 || kExtend[phase][2] != 0) return 3;
  return kOwnExact && kOwn[0][0][1] != 0 ? 3 : 2;  // the turn starts one component before its correction
}
CERAR_CONSTEXPR int kContributions = min_of(contributions(), kTerms);

/// `Lines` lines of the row that comes up kAhead rows from now.
template <int Lines>
CERAR_DEVICE void prefetch_row(const float* lines, long long row) {
  constexpr int kAhead = kTerms <= 16 ? 16 : 8;
  cerar_prefetch(lines + (row + kAhead) * (kTerms * kInterleave), Lines * kInterleave);
}

/// First visit of phases 1..N-1 (before the message holds every worker).
template <int W, bool Receives>
CERAR_DEVICE void open_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                            float*, long long, long long elements) {
  const float w0 = kOpen[a.phase][0], w1 = kOpen[a.phase][1], w2 = kOpen[a.phase][2];
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane,
                          prefetch_row<kContributions>(input, row)) {
    const float* const line = input + row * (kTerms * kInterleave) + lane;
    const long long at = row * kInterleave + lane;
    cerar_pack<W> x = {};
    if constexpr (kContributions > 2) {
      const cerar_pack<W> g2 = cerar_load<W>(line + 2 * kInterleave);
      for (int i = 0; i < W; ++i) x.at[i] = w2 * g2.at[i];
    }
    const cerar_pack<W> g0 = cerar_load<W>(line);
    const cerar_pack<W> g1 = cerar_load<W>(line + kInterleave);
    for (int i = 0; i < W; ++i) x.at[i] = cerar_fma(w0, g0.at[i], cerar_fma(w1, g1.at[i], x.at[i]));
    if constexpr (Receives) {
      const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
      for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + x.at[i];
    }
    cerar_send<W>(to, at, elements, a.message_as, x);
  }
}

/// Components k..k+B-1 from samples k..k+B+1; `slot` is that of sample k, which z0 holds already, as z1 does
/// sample k+1. Leaves the next two there.
template <int W, int B>
CERAR_DEVICE void decode_samples(const float (&d)[3], float* slot, cerar_pack<W>& z0, cerar_pack<W>& z1) {
  cerar_pack<W> z[B + 2];
  z[0] = z0, z[1] = z1;
  for (int b = 0; b < B; ++b) z[b + 2] = cerar_load<W>(slot + (b + 2) * kInterleave);
  for (int b = 0; b < B; ++b) {
    for (int i = 0; i < W; ++i)
      z[b].at[i] = cerar_fma(d[2], z[b + 2].at[i], cerar_fma(d[1], z[b + 1].at[i], d[0] * z[b].at[i]));
    cerar_store<W>(slot + b * kInterleave, z[b]);
  }
  z0 = z[B], z1 = z[B + 1];
}

/// Turns all samples of a row into components, each read once; the last one has just come and is not stored.
template <int W>
CERAR_DEVICE void decode_row(const float (&d)[3][3], float* slot, const cerar_pack<W>& last) {
  constexpr int kBlock = CERAR_GPU ? 2 : 1;  // loads under way at once; hosts look ahead by themselves
  cerar_pack<W> z0 = cerar_load<W>(slot);
  if constexpr (kTerms > 2) {
    cerar_pack<W> z1 = cerar_load<W>(slot + kInterleave);
    int k = 0;
#pragma unroll 1
    for (; k + kBlock <= kTerms - 3; k += kBlock, slot += kBlock * kInterleave)
      decode_samples<W, kBlock>(d[0], slot, z0, z1);
#pragma unroll 1
    for (; k < kTerms - 3; ++k, slot += kInterleave) decode_samples<W, 1>(d[0], slot, z0, z1);
    for (int i = 0; i < W; ++i)
      z0.at[i] = cerar_fma(d[0][2], last.at[i], cerar_fma(d[0][1], z1.at[i], d[0][0] * z0.at[i]));
    cerar_store<W>(slot, z0);
    z0 = z1;
    slot += kInterleave;
  }
  cerar_pack<W> y;
  for (int i = 0; i < W; ++i) z0.at[i] = cerar_fma(d[1][1], last.at[i], d[1][0] * z0.at[i]);
  for (int i = 0; i < W; ++i) y.at[i] = d[2][0] * last.at[i];
  cerar_store<W>(slot, z0);
  cerar_store<W>(slot + kInterleave, y);
}

/// Takes sample k. `Turn`: phase 0. `Lines`: how many of the components it reads exist. `Last`: k = r-1, so
/// that all can be decoded. `Forwards`: there is a next round.
template <int W, bool Turn, bool Raises, int Lines, bool Last, bool Forwards>
CERAR_DEVICE void visit_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                             float* slots, long long, long long elements) {
  const int k = a.sample, phase = Turn ? 0 : a.phase;
  const float(&w)[3] = Turn && !Raises ? kOpen[phase] : kExtend[phase];
  const float w0 = w[0], w1 = w[1], w2 = w[2], dither = kDither[phase];
  // The own correction of sample k uses components k+1 and k+2; those of the visit start at k (turn) or k+1.
  constexpr int kNext = Turn ? 1 : 0;
  const int own_row = k <= kTerms - 3 ? 0 : 1, previous_row = k - 1 <= kTerms - 3 ? 0 : 1;
  const float own1 = kOwn[phase][own_row][0], own2 = kOwn[phase][own_row][1];
  const float previous1 = kOwn[phase][previous_row][0], previous2 = kOwn[phase][previous_row][1];
  [[maybe_unused]] const float scale = 1.0f / a.divisor;
  [[maybe_unused]] float d[3][3];
  for (int row = 0; row < 3; ++row)
    for (int s = 0; s < 3; ++s) d[row][s] = kDecode[phase][row][s] * scale;
  const float* const first_line = input + (k + 1 - kNext) * kInterleave;
  float* const first_slot = slots + k * kInterleave;
  constexpr int kOlder = Raises ? 1 : 0;  // slots before k that are used
  CERAR_FOR_EACH_IN_LINES(W, elements / kInterleave, kInterleave, row, lane,
                          (prefetch_row<kOlder + 1>(first_slot - kOlder * kInterleave, row),
                           prefetch_row<Lines>(first_line, row))) {
    const long long at = row * kInterleave + lane;
    const float* const line = first_line + row * (kTerms * kInterleave) + lane;
    float* const slot = first_slot + row * (kTerms * kInterleave) + lane;
    cerar_pack<W> x = cerar_receive<W>(from, at, elements, a.received_as);
    // What joins the message is summed up first, so that the message itself is rounded once.
    cerar_pack<W> g[3] = {}, joins = {};
    if constexpr (!Turn)
      for (int i = 0; i < W; ++i) joins.at[i] = dither * x.at[i];
    if constexpr (Lines > 2) {
      g[2] = cerar_load<W>(line + 2 * kInterleave);
      for (int i = 0; i < W; ++i) joins.at[i] = cerar_fma(w2, g[2].at[i], joins.at[i]);
    }
    if constexpr (Lines > 1) {
      g[1] = cerar_load<W>(line + kInterleave);
      for (int i = 0; i < W; ++i) joins.at[i] = cerar_fma(w1, g[1].at[i], joins.at[i]);
    }
    if constexpr (Lines > 0) {
      g[0] = cerar_load<W>(line);
      for (int i = 0; i < W; ++i) joins.at[i] = cerar_fma(w0, g[0].at[i], joins.at[i]);
    }
    if constexpr (Raises) {
      cerar_pack<W> raw = cerar_load<W>(slot - kInterleave);  // sample k-1, here without its own correction
      if (kOwnExact) {
        if constexpr (Lines > 1)
          for (int i = 0; i < W; ++i) raw.at[i] = cerar_fma(-previous2, g[1].at[i], raw.at[i]);
        for (int i = 0; i < W; ++i) raw.at[i] = cerar_fma(-previous1, g[0].at[i], raw.at[i]);
      }
      // What was rounded away when it was sent is missing in the message that comes back as well.
      for (int i = 0; i < W; ++i) raw.at[i] = cerar_as_sent(raw.at[i], a.message_as);
      // The two are close, so their difference is exact, and the contribution joins at its own scale.
      for (int i = 0; i < W; ++i) x.at[i] = ((x.at[i] - raw.at[i]) + joins.at[i]) * kInverseEpsilon;
    } else {
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] + joins.at[i];
    }
    if constexpr (Forwards) cerar_send<W>(to, at, elements, a.message_as, x);
    if (kOwnExact) {
      if constexpr (kNext < Lines)
        for (int i = 0; i < W; ++i) x.at[i] = cerar_fma(own1, g[kNext].at[i], x.at[i]);
      if constexpr (kNext + 1 < Lines)
        for (int i = 0; i < W; ++i) x.at[i] = cerar_fma(own2, g[kNext + 1].at[i], x.at[i]);
    }
    if constexpr (Last)
      decode_row<W>(d, slot - (kTerms - 1) * kInterleave, x);
    else
      cerar_store<W>(slot, x);
  }
}

/// Samples 0..r-2, which always have a next round; `Turn` and `Raises` as above.
template <bool Turn, bool Raises>
CERAR_DEVICE void visit_class(const cerar_visit_arguments& a) {
  const int lines = kTerms - a.sample - (Turn ? 0 : 1);
  if (lines >= kContributions) {
    CERAR_RUN(visit_part, a, Turn, Raises, kContributions, false, true);
  } else if (lines == 2) {
    CERAR_RUN(visit_part, a, Turn, Raises, 2, false, true);
  } else {
    CERAR_RUN(visit_part, a, Turn, Raises, 1, false, true);
  }
}

CERAR_KERNEL open(cerar_visit_arguments a) {
  if (a.received)
    CERAR_RUN(open_part, a, true);
  else
    CERAR_RUN(open_part, a, false);
}

CERAR_KERNEL visit(cerar_visit_arguments a) {
  if (a.phase != 0)
    visit_class<false, false>(a);
  else if (a.sample == 0)
    visit_class<true, false>(a);
  else
    visit_class<true, true>(a);
}

CERAR_KERNEL close(cerar_visit_arguments a) {
  if (a.phase == 0)
    CERAR_RUN_MANY(visit_part, a, false, true, true, 1, true, true);
  else if (a.message)
    CERAR_RUN_MANY(visit_part, a, false, false, false, 0, true, true);
  else
    CERAR_RUN_MANY(visit_part, a, false, false, false, 0, true, false);
}

CERAR_KERNEL widen(cerar_convert_arguments a) { cerar_widen_vector(a); }

CERAR_KERNEL narrow(cerar_convert_arguments a) { cerar_narrow_vector(a); }
