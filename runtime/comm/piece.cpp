#include "runtime/comm/piece.h"

#include <algorithm>

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

}  // namespace cerar::runtime
