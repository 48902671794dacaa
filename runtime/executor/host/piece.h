#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/executor/executor.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// A contiguous part of the vector that is all-reduced on its own.
struct Piece {
  std::uint64_t begin = 0;  ///< first element
  std::uint64_t rows = 0;   ///< whole rows per class
  std::uint64_t tail =
      0;  ///< elements behind them, fewer than one row of every class; only in the last piece
};

/// Cuts `count` elements into pieces of equal messages, as near to `variant.message_bytes` as whole rows
/// allow.
std::vector<Piece> cut(const Variant& variant, std::uint64_t count);

/// Scratch for the elements that do not fill a row of every class, padded with zeros.
class PaddedRow {
 public:
  PaddedRow(const Variant& variant, const Piece& last);

  void load(const Call& call);
  void store(const Call& call) const;

  /// [terms][line] of one class, null where there is no tail.
  float* of_class(int class_index);
  std::uint64_t bytes() const { return elements_.size() * sizeof(float); }

 private:
  std::uint64_t first_ = 0, tail_ = 0, class_row_ = 0;
  std::vector<float> elements_;  // [classes][terms][line]
};

}  // namespace cerar::runtime
