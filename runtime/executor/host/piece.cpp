#include "runtime/executor/host/piece.h"

#include <algorithm>

#include "runtime/executor/host/elements.h"
#include "runtime/plan/wire.h"

namespace cerar::runtime {

std::vector<Piece> cut(const Variant& variant, std::uint64_t count) {
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t row = static_cast<std::uint64_t>(variant.shape.components) * line;
  const std::uint64_t rows = count / row, tail = count % row;
  const std::uint64_t preferred = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(
             static_cast<double>(variant.message_bytes) /
             (static_cast<double>(line) * bytes_per_element(variant.wire, variant.block))));
  const std::uint64_t pieces = std::max<std::uint64_t>(1, (rows + preferred - 1) / preferred);
  std::vector<Piece> result;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t share = rows / pieces + (i < rows % pieces ? 1 : 0);
    result.push_back({.begin = begin, .rows = share, .tail = i + 1 == pieces ? tail : 0});
    begin += share * row;
  }
  return result;
}

PaddedRow::PaddedRow(const Variant& variant, const Piece& last) : tail_(last.tail) {
  if (!tail_) return;
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const auto components = static_cast<std::uint64_t>(variant.shape.components);
  first_ = last.begin + last.rows * components * line;
  class_row_ = static_cast<std::uint64_t>(variant.shape.terms) * line;
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

float* PaddedRow::of_class(int class_index) {
  return tail_ ? elements_.data() + static_cast<std::uint64_t>(class_index) * class_row_ : nullptr;
}

}  // namespace cerar::runtime
