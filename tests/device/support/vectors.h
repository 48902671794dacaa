#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/api/cerar.h"
#include "runtime/bench/measure.h"
#include "tests/device/support/device_ranks.h"

namespace cerar::test {

/// Every rank's input, [rank].
Vectors inputs(int ranks, std::size_t count, runtime::Input kind = runtime::Input::normal,
               std::uint64_t seed = 1);

/// Expects `factor` times the sum over ranks, to the bit, on every rank.
void expect_exact_sums(const Vectors& vectors, const Vectors& results, double factor = 1);

std::uint64_t bytes_of(cerarDataType_t type);

/// A vector as it lies in memory, rounded to its type, and back.
std::vector<std::byte> packed(cerarDataType_t type, const std::vector<float>& values);
std::vector<float> unpacked(cerarDataType_t type, const std::vector<std::byte>& bytes);

}  // namespace cerar::test
