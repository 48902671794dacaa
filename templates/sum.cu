// Messages that are plain sums (r = 1, c divides N): begin, relay, settle, keep. Copy and add, nothing else;
// an average divides once, where the sum is complete.
#include "templates/elements.h"
#include "templates/wire/f32.h"

CERAR_CONSTEXPR int kTerms = 1;
CERAR_PARAMETER int kInterleave = 32;
static_assert(kInterleave >= 4 && (kInterleave & (kInterleave - 1)) == 0,
              "interleave must be a power of two from 4");

/// A visit before the sum is complete: the rank's own elements join the message, the vector stays as it is.
template <int W, bool Receives>
CERAR_DEVICE void relay_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                             float*, long long, long long elements) {
  CERAR_FOR_EACH(W, elements, at) {
    cerar_pack<W> x = cerar_load<W>(input + at);
    if constexpr (Receives) {
      const cerar_pack<W> received = cerar_receive<W>(from, at, elements, a.received_as);
      for (int i = 0; i < W; ++i) x.at[i] = received.at[i] + x.at[i];
    }
    cerar_send<W>(to, at, elements, a.message_as, x);
  }
}

/// The message holds the whole sum: after adding the rank's own elements (`Adds`), or already when it comes.
/// Every rank keeps what the message holds, rounded for the wire once.
template <int W, bool Adds, bool Average, bool Forwards>
CERAR_DEVICE void settle_part(const cerar_visit_arguments& a, const void* from, void* to, const float* input,
                              float* slots, long long, long long elements) {
  const float divisor = a.divisor;
  CERAR_FOR_EACH(W, elements, at) {
    cerar_pack<W> x = cerar_receive<W>(from, at, elements, a.received_as);
    if constexpr (Adds) {
      const cerar_pack<W> own = cerar_load<W>(input + at);
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] + own.at[i];
    }
    if constexpr (Average)
      for (int i = 0; i < W; ++i) x.at[i] = x.at[i] / divisor;
    if constexpr (Forwards && Adds) x = cerar_settle<W>(to, at, elements, a.message_as, x);
    if constexpr (Forwards && !Adds) cerar_pass<W>(from, to, at, elements);
    cerar_store<W>(slots + at, x);
  }
}

CERAR_KERNEL begin(cerar_visit_arguments a) { CERAR_RUN(relay_part, a, false); }

CERAR_KERNEL relay(cerar_visit_arguments a) { CERAR_RUN(relay_part, a, true); }

CERAR_KERNEL settle(cerar_visit_arguments a) {
  if (a.message) {
    if (a.divisor == 1.0f)
      CERAR_SETTLE(settle_part, a, true, false, true);
    else
      CERAR_SETTLE(settle_part, a, true, true, true);
  } else {
    if (a.divisor == 1.0f)
      CERAR_RUN(settle_part, a, true, false, false);
    else
      CERAR_RUN(settle_part, a, true, true, false);
  }
}

CERAR_KERNEL keep(cerar_visit_arguments a) {
  if (a.message)
    CERAR_PASS(settle_part, a, false, false, true);
  else
    CERAR_RUN(settle_part, a, false, false, false);
}

CERAR_KERNEL widen(cerar_convert_arguments a) { cerar_widen_vector(a); }

CERAR_KERNEL narrow(cerar_convert_arguments a) { cerar_narrow_vector(a); }
