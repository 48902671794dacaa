#include "tests/device/support/vectors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/executor/host/elements.h"

namespace cerar::test {
namespace {

runtime::DataType type_of(cerarDataType_t type) {
  return type == cerarFloat32   ? runtime::DataType::f32
         : type == cerarFloat16 ? runtime::DataType::f16
                                : runtime::DataType::bf16;
}

}  // namespace

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

std::uint64_t bytes_of(cerarDataType_t type) { return type == cerarFloat32 ? 4 : 2; }

std::vector<std::byte> packed(cerarDataType_t type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * bytes_of(type));
  if (type == cerarFloat32)
    std::memcpy(bytes.data(), values.data(), bytes.size());
  else
    runtime::narrow(type_of(type), values.data(), values.size(), bytes.data(), 0);
  return bytes;
}

std::vector<float> unpacked(cerarDataType_t type, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / bytes_of(type));
  if (type == cerarFloat32)
    std::memcpy(values.data(), bytes.data(), bytes.size());
  else
    runtime::widen(type_of(type), bytes.data(), 0, values.size(), values.data());
  return values;
}

}  // namespace cerar::test
