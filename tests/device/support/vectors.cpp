#include "tests/device/support/vectors.h"

#include <gtest/gtest.h>

namespace cerar::test {
Vectors inputs(int ranks, std::size_t count, runtime::Input kind, std::uint64_t seed) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank) vectors.push_back(runtime::make_input(kind, rank, count, seed));
  return vectors;
}

void expect_exact_sums(const Vectors& vectors, const Vectors& results, double factor) {
  for (const auto& result : results) {
    ASSERT_EQ(result.size(), vectors[0].size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      double sum = 0;
      for (const auto& vector : vectors) sum += vector[i];
      ASSERT_EQ(result[i], factor * sum) << "element " << i;
    }
  }
}

}  // namespace cerar::test
