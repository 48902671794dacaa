#include "runtime/comm/pieces.h"

#include <algorithm>
#include <cstdint>

#include "runtime/plan/wire.h"

namespace cerar::runtime {

std::vector<Piece> cut(const Variant& variant, std::uint64_t count) {
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t rows = count / (static_cast<std::uint64_t>(variant.shape.components) * line);
  const std::uint64_t preferred = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(
             static_cast<double>(variant.message_bytes) /
             (static_cast<double>(line) * bytes_per_element(variant.wire, variant.block))));
  return cut_into(variant, count, std::max<std::uint64_t>(1, (rows + preferred - 1) / preferred));
}

std::vector<Piece> cut_into(const Variant& variant, std::uint64_t count, std::uint64_t pieces) {
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t row = static_cast<std::uint64_t>(variant.shape.components) * line;
  const std::uint64_t rows = count / row, tail = count % row;
  std::vector<Piece> result;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t share = rows / pieces + (i < rows % pieces ? 1 : 0);
    result.push_back({.begin = begin, .rows = share, .tail = i + 1 == pieces ? tail : 0});
    begin += share * row;
  }
  return result;
}

namespace {

bool is_type_of(Wire wire, DataType type) {
  return (wire == Wire::bf16 && type == DataType::bf16) || (wire == Wire::f16 && type == DataType::f16);
}

// The visit after which a message got its dither, or 0 for none. Of codes with c <= N a message is complete
// after visit N, and must not be rounded again: in 16 bits the same dither gives the same bits again. It gets
// none where a block's scale would not be the same, where results have the message's type and are exactly
// what it holds. In f32 nothing is rounded when it is sent. What phase 0 of a differential code sends in
// 16 bits it must be able to tell from the value (templates/differential.cu).
int dithered_at(const Variant& variant, DataType type, int sender_phase, int visit) {
  const int workers = variant.shape.workers;
  const bool drifts = variant.shape.components > workers, block = is_block_wire(variant.wire);
  if (variant.wire == Wire::f32) return 0;
  if (variant.messages == Messages::differential) return block || sender_phase != 0 ? visit : 0;
  if (drifts || visit < workers) return visit;
  return block || (variant.messages == Messages::sum && is_type_of(variant.wire, type)) ? 0 : workers;
}

// An odd number of its own for each message of a job: numbers of one place are then dithered independently
// from hop to hop. The finaliser of MurmurHash3 (public domain).
unsigned dither_of(const Variant& variant, DataType type, const Step& step, int sender_phase, int visit) {
  const int dithered = dithered_at(variant, type, sender_phase, visit);
  if (dithered == 0) return 0;
  const int workers = variant.shape.workers;
  const int chain = ((sender_phase + step.class_index - visit) % workers + workers) % workers;
  auto bits = static_cast<std::uint32_t>(dithered * workers + chain);
  bits = (bits ^ bits >> 16) * 0x85ebca6bu;
  bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
  return (bits ^ bits >> 16) | 1u;
}

cerar_rounding rounding_of(const Variant& variant, const PieceMemory& memory, const Step& step, bool averages,
                           bool divided, int sender_phase, int visit) {
  const float gain = message_gain(variant, averages, divided);
  return {.gain = gain,
          .inverse = 1.0f / gain,
          .dither = visit > 0 ? dither_of(variant, memory.type, step, sender_phase, visit) : 0};
}

}  // namespace

std::uint64_t early_class_elements(const Variant& variant, std::uint64_t rows, bool padded) {
  if (variant.messages != Messages::plain) return 0;
  return (rows + (padded ? 1 : 0)) * static_cast<std::uint64_t>(variant.shape.chains - 1) *
         static_cast<std::uint64_t>(variant.interleave);
}

cerar_visit_arguments arguments_of(const Variant& variant, const Piece& piece, const PieceMemory& memory,
                                   const Step& step, float divisor, std::uint64_t early_class) {
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t class_row = static_cast<std::uint64_t>(variant.shape.terms) * line;
  const auto q = static_cast<std::uint64_t>(step.class_index);
  const std::uint64_t first = q * piece.rows * class_row;
  const bool averages = divisor != 1;
  const int workers = variant.shape.workers, before = (step.phase + workers - 1) % workers;
  const bool kept = step.role == Role::keep, settled = kept || step.role == Role::settle;
  return {.input = memory.input + first,
          .slots = memory.slots + first,
          .tail = piece.tail ? memory.padded + q * class_row : nullptr,
          .early = early_class ? memory.early + q * early_class : nullptr,
          .received = step.receives ? memory.message : nullptr,
          // What is only kept goes on as it came, from where it is, and is not written again.
          .message = step.sends && step.role != Role::keep ? memory.message : nullptr,
          .elements = static_cast<long long>(piece.rows * line),
          .phase = step.phase,
          .sample = step.sample,
          .divisor = step.averages ? divisor : 1.0f,
          .received_as = rounding_of(variant, memory, step, averages, kept, before, step.visit - 1),
          .message_as = rounding_of(variant, memory, step, averages, settled, step.phase, step.visit),
          .vector_width = 1};
}

}  // namespace cerar::runtime
