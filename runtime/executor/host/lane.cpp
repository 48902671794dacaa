#include "runtime/executor/host/lane.h"

#include <bit>

#include "runtime/executor/host/elements.h"
#include "runtime/plan/wire.h"

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

Lane::Lane(const Variant& variant, DataType type, std::uint64_t rows, bool padded)
    : variant_(variant), line_(static_cast<std::uint64_t>(variant.interleave)) {
  const Shape& shape = variant.shape;
  for (auto& buffer : buffers_)
    buffer.resize((message_bytes(variant, rows * line_, padded) + sizeof(float) - 1) / sizeof(float));
  if (type != DataType::f32) copy_.resize(rows * static_cast<std::uint64_t>(shape.components) * line_);
  if (variant.messages != Messages::plain) return;
  early_class_ = (rows + (padded ? 1 : 0)) * static_cast<std::uint64_t>(shape.chains - 1) * line_;
  early_.resize(early_class_ * static_cast<std::uint64_t>(shape.classes));
}

std::uint64_t Lane::bytes() const {
  return (buffers_[0].size() + buffers_[1].size() + early_.size() + copy_.size()) * sizeof(float);
}

std::uint64_t Lane::elements(const Piece& piece) const {
  return piece.rows * static_cast<std::uint64_t>(variant_.shape.components) * line_;
}

void Lane::begin(const Call& call, const Piece& piece) {
  if (call.type == DataType::f32) {
    input_ = static_cast<const float*>(call.send) + piece.begin;
    slots_ = static_cast<float*>(call.receive) + piece.begin;
    return;
  }
  widen(call.type, call.send, piece.begin, elements(piece), copy_.data());
  input_ = slots_ = copy_.data();
}

void Lane::end(const Call& call, const Piece& piece) const {
  if (call.type != DataType::f32) narrow(call.type, copy_.data(), elements(piece), call.receive, piece.begin);
}

std::span<std::byte> Lane::message(const Piece& piece, int visit) {
  return std::as_writable_bytes(std::span(buffers_[visit % 2]))
      .first(message_bytes(variant_, piece.rows * line_, piece.tail != 0));
}

cerar_visit_arguments Lane::arguments(const Piece& piece, PaddedRow& padded, const Step& step, int visit,
                                      float divisor) {
  const std::uint64_t class_row = static_cast<std::uint64_t>(variant_.shape.terms) * line_;
  const std::uint64_t first = static_cast<std::uint64_t>(step.class_index) * piece.rows * class_row;
  const bool averages = divisor != 1;
  float* const message = buffers_[visit % 2].data();
  return {.input = input_ + first,
          .slots = slots_ + first,
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
          .received_gain = gain_of(variant_, averages, step.role == Role::keep),
          .message_gain = gain_of(variant_, averages, step.role == Role::keep || step.role == Role::settle),
          .vector_width = 1};
}

}  // namespace cerar::runtime
