#include "runtime/executor/piece_memory.h"

#include <bit>

namespace cerar::runtime {
namespace {

// Averages in f16 would overflow where the sum does, though the mean does not: until it is divided, a message
// holds a power of two less. Of codes no message is divided; the receivers do it.
float gain_of(const Variant& variant, bool averages, bool divided) {
  const auto workers = static_cast<unsigned>(variant.shape.workers);
  if (variant.wire != Wire::f16 || !averages || divided) return 1;
  return 1.0f / static_cast<float>(std::bit_ceil(workers));
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
          .received_gain = gain_of(variant, averages, step.role == Role::keep),
          .message_gain = gain_of(variant, averages, step.role == Role::keep || step.role == Role::settle),
          .vector_width = 1};
}

}  // namespace cerar::runtime
