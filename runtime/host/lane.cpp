#include "runtime/host/lane.h"

#include <algorithm>

#include "runtime/plan/elements.h"
#include "runtime/plan/wire.h"

namespace cerar::runtime {

PaddedRow::PaddedRow(const Variant& variant, const Piece& last) : tail_(last.tail) {
  if (!tail_) return;
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const auto components = static_cast<std::uint64_t>(variant.shape.components);
  first_ = last.begin + last.rows * components * line;
  elements_.resize(components * line);
}

void PaddedRow::load(const Call& call) {
  if (!tail_) return;
  widen(call.type, call.send, first_, tail_, elements_.data());
  std::fill(elements_.begin() + static_cast<std::ptrdiff_t>(tail_), elements_.end(), 0.0f);
}

void PaddedRow::store(const Call& call) const {
  if (tail_) narrow(call.type, elements_.data(), tail_, call.receive, first_);
}

Lane::Lane(const Variant& variant, DataType type, std::uint64_t rows, bool padded)
    : variant_(variant), type_(type), line_(static_cast<std::uint64_t>(variant.interleave)) {
  const Shape& shape = variant.shape;
  for (auto& buffer : buffers_)
    buffer.resize((message_bytes(variant, rows * line_, padded) + sizeof(float) - 1) / sizeof(float));
  if (type != DataType::f32) copy_.resize(rows * static_cast<std::uint64_t>(shape.components) * line_);
  early_class_ = early_class_elements(variant, rows, padded);
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
  const PieceMemory memory{.input = input_,
                           .slots = slots_,
                           .padded = padded.data(),
                           .early = early_.data(),
                           .message = buffers_[visit % 2].data(),
                           .type = type_};
  return arguments_of(variant_, piece, memory, step, divisor, early_class_);
}

}  // namespace cerar::runtime
