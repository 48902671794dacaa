#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/comm/pieces.h"

namespace cerar::runtime {
namespace {

Variant variant_of(int workers, int components, int lanes, std::uint64_t message_bytes) {
  Variant variant;
  variant.shape = make_shape(workers, components);
  variant.lanes = lanes;
  variant.message_bytes = message_bytes;
  return variant;
}

TEST(Pieces, CoverEveryElementOnceWithMessagesOfOneSize) {
  for (const int components : {1, 8, 12, 64})
    for (const int lanes : {1, 4})
      for (const std::uint64_t count : {1ull, 31ull, 4096ull, 100003ull, 5000000ull}) {
        const Variant variant = variant_of(8, components, lanes, 65536);
        const std::uint64_t row = static_cast<std::uint64_t>(components) * 32;
        std::uint64_t next = 0, least = UINT64_MAX, most = 0;
        const auto pieces = cut(variant, count);
        for (const auto& piece : pieces) {
          EXPECT_EQ(piece.begin, next);
          next += piece.rows * row + piece.tail;
          least = std::min(least, piece.rows);
          most = std::max(most, piece.rows);
          EXPECT_TRUE(piece.tail == 0 || &piece == &pieces.back());
          EXPECT_LT(piece.tail, row);
        }
        EXPECT_EQ(next, count);
        EXPECT_LE(most, least + 1);
        EXPECT_LE(most * 128, 65536u + 128u) << "messages";
      }
}

TEST(Pieces, SmallVectorsAreOnePiece) {
  const Variant variant = variant_of(8, 64, 4, 65536);
  EXPECT_EQ(cut(variant, 64 * 16384).size(), 1u);
  EXPECT_EQ(cut(variant, 64 * 16384 + 64 * 32).size(), 2u);
  EXPECT_EQ(cut(variant, 10).size(), 1u);
}

}  // namespace
}  // namespace cerar::runtime
