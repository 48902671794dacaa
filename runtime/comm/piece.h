#pragma once

#include <cstdint>
#include <vector>

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

/// Cuts `count` elements into `pieces` pieces (at least 1) as equal as whole rows allow.
std::vector<Piece> cut_into(const Variant& variant, std::uint64_t count, std::uint64_t pieces);

}  // namespace cerar::runtime
