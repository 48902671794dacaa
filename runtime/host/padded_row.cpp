#include "runtime/host/padded_row.h"

#include <algorithm>

#include "runtime/plan/elements.h"

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

}  // namespace cerar::runtime
