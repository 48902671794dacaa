#include "tests/multirank/vectors.h"

#include <limits>

namespace cerar::test {

Vectors all_reduce(const runtime::LocalRanks& ranks, const Vectors& inputs, bool in_place, cerarRedOp_t op) {
  Vectors outputs = inputs;
  if (!in_place)
    for (auto& output : outputs) output.assign(output.size(), std::numeric_limits<float>::quiet_NaN());
  ranks.run([&](int rank) {
    auto& output = outputs[static_cast<std::size_t>(rank)];
    const float* input = in_place ? output.data() : inputs[static_cast<std::size_t>(rank)].data();
    runtime::require_success(
        cerarAllReduce(input, output.data(), output.size(), cerarFloat32, op, ranks.comm(rank), nullptr));
  });
  return outputs;
}

}  // namespace cerar::test
