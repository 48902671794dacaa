#pragma once

#include <vector>

#include "runtime/measure/rank_threads.h"

namespace cerar::test {

using Vectors = std::vector<std::vector<float>>;  // [rank]

/// One all-reduce, into poisoned vectors where it is out of place; what each rank got.
Vectors all_reduce(const runtime::LocalRanks& ranks, const Vectors& inputs, bool in_place = true,
                   cerarRedOp_t op = cerarSum);

}  // namespace cerar::test
