#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/include/cerar.h"
#include "runtime/measure/element_type.h"
#include "runtime/measure/measure.h"
#include "tests/device/support/device_ranks.h"

namespace cerar::test {

/// Every rank's input, [rank].
Vectors inputs(int ranks, std::size_t count, runtime::Input kind = runtime::Input::normal,
               std::uint64_t seed = 1);

/// Expects `factor` times the sum over ranks, to the bit, on every rank.
void expect_exact_sums(const Vectors& vectors, const Vectors& results, double factor = 1);

}  // namespace cerar::test
