#pragma once

// Runs kernels' bodies over a class, and lets them at its messages. The last include of every wire, which
// before says how messages are stored:
//   cerar_part_bytes(elements)   bytes of a part of a message: its rows, or the padded row behind them
//   cerar_as_sent(value, as)   what receivers make of a value sent without dither, where it alone decides
//   that
// and, on the GPU and for f32, for pack `at` of a part of `elements` elements,
//   cerar_receive(part, at, elements, as)         its value
//   cerar_settle(part, at, elements, as, value)   writes it and returns what it is for those who receive it
//   cerar_pass(from, to, at, elements)              the same bits again
// where `as` is a cerar_rounding; or, on the host, with CERAR_STAGED defined, for `count` elements from
// `first` on, a multiple of kStage,
//   cerar_decode(part, elements, first, count, table, to)         table: of cerar_prepare_decode(as, table)
//   cerar_encode(part, elements, first, count, as, table, from)   table: of cerar_prepare_encode(as, table)
// Then the host's bodies work on f32 copies of a few rows that stay in the first-level cache. What depends on
// an element's place alone is in the tables of kStage numbers, made once per kernel.

#if defined(CERAR_STAGED)
template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* part, long long at, long long, const cerar_rounding&) {
  return cerar_load<W>(static_cast<const float*>(part) + at);
}
template <int W>
CERAR_DEVICE cerar_pack<W> cerar_settle(void* part, long long at, long long, const cerar_rounding&,
                                        const cerar_pack<W>& value) {
  cerar_store<W>(static_cast<float*>(part) + at, value);
  return value;
}
template <int W>
CERAR_DEVICE void cerar_pass(const void*, void*, long long, long long) {}

/// What becomes of a message: new values, new values that the rank itself keeps as others will receive them,
/// or the received one again.
enum class cerar_message { sent, settled, passed };

/// Rows of a class, kStage elements of the message at a time.
class cerar_stages {
 public:
  cerar_stages(const cerar_visit_arguments& a, int terms_, int interleave_, cerar_message fate_)
      : arguments(a), terms(terms_), interleave(interleave_), fate(fate_) {
    if (a.received) cerar_prepare_decode(a.received_as, receiving);
    if (a.message) cerar_prepare_encode(a.message_as, sending);
    if (fate == cerar_message::settled) cerar_prepare_decode(a.message_as, settling);
  }

  const float* input = nullptr;
  float* slots = nullptr;
  long long offset = 0, elements = 0;
  const float* from() const { return received; }
  float* to() { return message; }

  /// Goes to the next rows and decodes what was received for them; false behind the last ones.
  bool next() {
    first += elements;
    while (first == part_elements) {
      if (++part > (arguments.tail ? 1 : 0)) return false;
      first = 0;
      part_elements = part == 0 ? arguments.elements : interleave;
      received_part = at_part(arguments.received);
      message_part = const_cast<char*>(at_part(arguments.message));
    }
    elements = part_elements - first < kStage ? part_elements - first : kStage;
    offset = (part == 0 ? 0 : arguments.elements) + first;
    input = (part == 0 ? arguments.input : arguments.tail) + first * terms;
    slots = (part == 0 ? arguments.slots : arguments.tail) + first * terms;
    if (received_part) cerar_decode(received_part, part_elements, first, (int)elements, receiving, received);
    return true;
  }

  /// Encodes what the rows' body has put into the message.
  void finish() {
    if (!message_part) return;
    if (fate == cerar_message::passed) {
      if (message_part != received_part && first == 0)
        __builtin_memcpy(message_part, received_part, (unsigned long)cerar_part_bytes(part_elements));
      return;
    }
    cerar_encode(message_part, part_elements, first, (int)elements, arguments.message_as, sending, message);
    if (fate == cerar_message::settled)  // sums: the message's elements are the slots'
      cerar_decode(message_part, part_elements, first, (int)elements, settling, slots);
  }

 private:
  const char* at_part(const void* whole) const {
    const auto* const bytes = static_cast<const char*>(whole);
    return bytes && part == 1 ? bytes + cerar_part_bytes(arguments.elements) : bytes;
  }

  const cerar_visit_arguments& arguments;
  const int terms, interleave;
  const cerar_message fate;
  int part = -1;
  long long first = 0, part_elements = 0;
  const char* received_part = nullptr;
  char* message_part = nullptr;
  alignas(64) float received[kStage];
  alignas(64) float message[kStage];
  alignas(64) float receiving[kStage];
  alignas(64) float sending[kStage];
  alignas(64) float settling[kStage];
};

#define CERAR_RUN_WIDTH(fate, body, arguments, W, ...)                                                    \
  for (cerar_stages cerar_stage(arguments, kTerms, kInterleave, cerar_message::fate); cerar_stage.next(); \
       cerar_stage.finish())                                                                              \
  body<W, ##__VA_ARGS__>(arguments, cerar_stage.from(), cerar_stage.to(), cerar_stage.input,              \
                         cerar_stage.slots, cerar_stage.offset, cerar_stage.elements)
#else
/// Where a part of a message begins. On the GPU without a branch, which would double the code of the loop.
CERAR_DEVICE const void* cerar_part_of(const cerar_visit_arguments& a, const void* message, int part) {
  if (!CERAR_GPU && !message) return nullptr;
  return static_cast<const char*>(message) + (part ? cerar_part_bytes(a.elements) : 0);
}
CERAR_DEVICE void* cerar_part_of(const cerar_visit_arguments& a, void* message, int part) {
  if (!CERAR_GPU && !message) return nullptr;
  return static_cast<char*>(message) + (part ? cerar_part_bytes(a.elements) : 0);
}

// One loop over both parts rather than the body twice: it halves the code, which is most of NVRTC's time.
#define CERAR_RUN_WIDTH(fate, body, arguments, W, ...)                                                \
  _Pragma("unroll 1") for (int cerar_part = 0; cerar_part < ((arguments).tail ? 2 : 1); ++cerar_part) \
      body<W, ##__VA_ARGS__>(arguments, cerar_part_of(arguments, (arguments).received, cerar_part),   \
                             cerar_part_of(arguments, (arguments).message, cerar_part),               \
                             cerar_part ? (arguments).tail : (arguments).input,                       \
                             cerar_part ? (arguments).tail : (arguments).slots,                       \
                             cerar_part ? (arguments).elements : 0,                                   \
                             cerar_part ? kInterleave : (arguments).elements)
#endif

template <int W>
CERAR_DEVICE void cerar_send(void* part, long long at, long long elements, const cerar_rounding& as,
                             const cerar_pack<W>& value) {
  cerar_settle<W>(part, at, elements, as, value);
}

// Runs `body<W, ...>(arguments, from, to, input, slots, offset, elements)` over the rows of the vector and,
// when there is one, over the padded row behind them. `from` and `to` are where the message's `elements`
// elements for these rows begin, the first of them number `offset` of the message. CERAR_SETTLE and
// CERAR_PASS are for bodies that use cerar_settle and cerar_pass.
#define CERAR_RUN(body, arguments, ...) CERAR_RUN_PACKS(sent, body, arguments, ##__VA_ARGS__)
#define CERAR_SETTLE(body, arguments, ...) CERAR_RUN_PACKS(settled, body, arguments, ##__VA_ARGS__)
#define CERAR_PASS(body, arguments, ...) CERAR_RUN_PACKS(passed, body, arguments, ##__VA_ARGS__)
#if !CERAR_GPU
#define CERAR_RUN_PACKS(fate, body, arguments, ...) CERAR_RUN_WIDTH(fate, body, arguments, 1, ##__VA_ARGS__)
#elif defined(CERAR_BLOCK)  // converted by whole warps, with packs of 4; all pointers are aligned for them
#define CERAR_RUN_PACKS(fate, body, arguments, ...) CERAR_RUN_WIDTH(fate, body, arguments, 4, ##__VA_ARGS__)
#else
#define CERAR_RUN_PACKS(fate, body, arguments, ...)             \
  do {                                                          \
    if ((arguments).vector_width == 4)                          \
      CERAR_RUN_WIDTH(fate, body, arguments, 4, ##__VA_ARGS__); \
    else                                                        \
      CERAR_RUN_WIDTH(fate, body, arguments, 1, ##__VA_ARGS__); \
  } while (false)
#endif

// The same for bodies that keep many lines at once: on the host whole lines, so that the loops over elements
// are inside; on the GPU packs of 4 only where their registers suffice (`narrow` says that they do not).
#if !CERAR_GPU
#define CERAR_RUN_MANY(body, arguments, narrow, ...) \
  CERAR_RUN_WIDTH(sent, body, arguments, kInterleave, ##__VA_ARGS__)
#elif defined(CERAR_BLOCK)
#define CERAR_RUN_MANY(body, arguments, narrow, ...) CERAR_RUN(body, arguments, ##__VA_ARGS__)
#else
#define CERAR_RUN_MANY(body, arguments, narrow, ...)            \
  do {                                                          \
    if ((arguments).vector_width == 4 && !(narrow))             \
      CERAR_RUN_WIDTH(sent, body, arguments, 4, ##__VA_ARGS__); \
    else                                                        \
      CERAR_RUN_WIDTH(sent, body, arguments, 1, ##__VA_ARGS__); \
  } while (false)
#endif
