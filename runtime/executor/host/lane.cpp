#include "runtime/executor/host/lane.h"

namespace cerar::runtime {

Lane::Lane(const Variant& variant, std::uint64_t rows)
    : shape_(variant.shape), line_(static_cast<std::uint64_t>(variant.interleave)) {
  for (auto& buffer : buffers_) buffer.resize(rows * line_);
  if (variant.messages != Messages::plain) return;
  early_class_ = rows * static_cast<std::uint64_t>(shape_.chains - 1) * line_;
  early_.resize(early_class_ * static_cast<std::uint64_t>(shape_.classes));
}

std::span<std::byte> Lane::message(const Piece& piece, int visit) {
  const std::uint64_t elements = (piece.rows + (piece.tail ? 1 : 0)) * line_;
  return std::as_writable_bytes(std::span(buffers_[visit % 2]).first(elements));
}

cerar_visit_arguments Lane::arguments(const Call& call, const Piece& piece, PaddedRow& padded,
                                      const Step& step, int visit, float divisor) {
  const std::uint64_t class_row = static_cast<std::uint64_t>(shape_.terms) * line_;
  const std::uint64_t first =
      piece.begin + static_cast<std::uint64_t>(step.class_index) * piece.rows * class_row;
  float* const message = buffers_[visit % 2].data();
  return {.input = call.send + first,
          .slots = call.receive + first,
          .tail = piece.tail ? padded.of_class(step.class_index) : nullptr,
          .early = early_.empty()
                       ? nullptr
                       : early_.data() + early_class_ * static_cast<std::uint64_t>(step.class_index),
          .received = step.receives ? message : nullptr,
          .message = step.sends ? message : nullptr,
          .elements = static_cast<long long>(piece.rows * line_),
          .phase = step.phase,
          .sample = step.sample,
          .divisor = step.averages ? divisor : 1.0f,
          .vector_width = 1};
}

}  // namespace cerar::runtime
