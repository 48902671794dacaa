#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/comm/executor.h"
#include "runtime/comm/piece.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// Scratch for the elements that do not fill a row of every class, padded with zeros.
class PaddedRow {
 public:
  PaddedRow(const Variant& variant, const Piece& last);

  void load(const Call& call);
  void store(const Call& call) const;

  /// [classes][terms][line], null where there is no tail.
  float* data() { return tail_ ? elements_.data() : nullptr; }
  std::uint64_t bytes() const { return elements_.size() * sizeof(float); }

 private:
  std::uint64_t first_ = 0, tail_ = 0;
  std::vector<float> elements_;  // [classes][terms][line]
};

}  // namespace cerar::runtime
