// Large numbers: what has a finite result comes out finite, up to the ranges that cerar.h states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/measure/element_type.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wire.h"
#include "tests/multirank/vectors.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::LocalRanks;
using runtime::Wire;

struct Code {
  Construction construction;
  int workers, components;
};

std::vector<Code> codes() {
  std::vector<Code> list = {{Construction::unimodular, 4, 3},    {Construction::unimodular, 8, 5},
                            {Construction::unimodular, 16, 11},  {Construction::harmonic, 4, 8},
                            {Construction::harmonic, 8, 12},     {Construction::vandermonde, 8, 16},
                            {Construction::optimized, 6, 12},    {Construction::differential, 3, 6},
                            {Construction::differential, 8, 32}, {Construction::differential, 16, 64}};
  for (int workers = 2; workers <= 16; workers += workers < 5 ? 1 : 3)
    list.push_back({Construction::ring, workers, workers});
  list.push_back({Construction::ring, 8, 1});
  list.push_back({Construction::ring, 6, 2});
  return list;
}

std::string plan_of(const Code& code, Wire wire) {
  return plan_directory(code.construction, code.workers, code.components, 2, wire);
}

// The largest deviation of any element on any rank from `expected`, relative to it; infinite where one is not
// finite.
double deviation(const Vectors& results, double expected) {
  double most = 0;
  for (const auto& result : results)
    for (const float x : result)
      most = std::isfinite(x) ? std::max(most, std::abs(x / expected - 1))
                              : std::numeric_limits<double>::infinity();
  return most;
}

Vectors constants(int workers, std::size_t count, float value) {
  return Vectors(static_cast<std::size_t>(workers), std::vector<float>(count, value));
}

// Sums up to 64000, averages of 60000: the range of f16 ends at 65504.
TEST(MessagesOfF16, HoldWhatResultsHold) {
  for (const Code& code : codes()) {
    const std::string directory = plan_of(code, Wire::f16);
    const double claim = runtime::load_plan(directory).variants[0].claim.total;
    const LocalRanks ranks(directory, code.workers);
    const std::size_t count = static_cast<std::size_t>(code.components) * 64 + 5;
    for (const float sign : {1.0f, -1.0f}) {
      const Vectors sums =
          all_reduce(ranks, constants(code.workers, count, sign * 64000 / static_cast<float>(code.workers)));
      EXPECT_LE(deviation(sums, sign * 64000), 8 * claim) << directory;
      const Vectors averages =
          all_reduce(ranks, constants(code.workers, count, sign * 60000), false, cerarAverage);
      EXPECT_LE(deviation(averages, sign * 60000), 8 * claim) << directory;
    }
  }
}

TEST(MessagesOfF16, HoldVectorsOfF16) {
  for (const Code& code : {Code{Construction::ring, 8, 8}, Code{Construction::unimodular, 8, 5},
                           Code{Construction::differential, 8, 32}}) {
    const LocalRanks ranks(plan_of(code, Wire::f16), code.workers);
    runtime::MeasureOptions options{
        .count = 4001, .op = cerarAverage, .in_place = true, .type = cerarFloat16};
    ranks.run([&](int rank) {
      const auto vectors = runtime::make_host_vectors();
      vectors->load(std::vector<float>(options.count, 60000.0f), options);
      vectors->all_reduce(ranks.comm(rank), options.op);
      for (const float x : vectors->result()) ASSERT_NEAR(x, 60000, 6000);
    });
  }
}

// What the tables say covers what messages hold: the sum over components of the largest coefficient.
TEST(MessagesOfF16, GrowNoMoreThanTheTablesSay) {
  EXPECT_EQ(runtime::load_plan(plan_of({Construction::ring, 8, 8}, Wire::f16)).variants[0].growth, 1);
  for (const Code& code : codes()) {
    const auto variant = runtime::load_plan(plan_of(code, Wire::f16)).variants[0];
    EXPECT_GE(variant.growth, 1);
    EXPECT_LE(variant.growth, 2 * variant.shape.terms);
    const float sum = message_gain(variant, false, false), average = message_gain(variant, true, false);
    EXPECT_LE(sum * variant.growth, 1);
    EXPECT_LE(average * variant.growth * code.workers, 1);
    EXPECT_GT(sum * variant.growth, 0.4);  // no more bits are given away than need be
    EXPECT_EQ(message_gain(variant, true, true), 1);
  }
}

// cerar.h: each magnitude below 1e30, in every code and message.
TEST(LargeNumbers, StayFiniteWithinTheStatedRange) {
  for (const Code& code : codes())
    for (const auto& format : runtime::wire_formats()) {
      const bool few = code.workers <= 8 && code.components >= 12;
      const bool one = code.construction == Construction::differential && code.components == 32;
      const bool tried = format.wire == Wire::bf16 || format.wire == Wire::fx16
                             ? few
                             : format.wire == Wire::f32 || (one && format.wire != Wire::f16);
      if (!tried) continue;
      const std::string directory = plan_of(code, format.wire);
      const LocalRanks ranks(directory, code.workers);
      const std::size_t count = static_cast<std::size_t>(code.components) * 64 + 5;
      for (int kind = 0; kind < 3; ++kind) {
        Vectors inputs = constants(code.workers, count, 1e30f);
        for (int rank = 0; rank < code.workers; ++rank) {
          auto& input = inputs[static_cast<std::size_t>(rank)];
          const auto normal = runtime::make_input(runtime::Input::normal, rank, count);
          for (std::size_t i = 0; i < count; ++i) {
            if (kind == 1 && i % 2 == 1) input[i] = -input[i];
            if (kind == 2) input[i] = std::copysign(input[i], normal[i]);
          }
        }
        for (const cerarRedOp_t op : {cerarSum, cerarAverage})
          for (const auto& result : all_reduce(ranks, inputs, op == cerarSum, op))
            EXPECT_TRUE(std::all_of(result.begin(), result.end(), [](float x) { return std::isfinite(x); }))
                << directory << ", kind " << kind;
      }
    }
}

// Exact sums reach as far as f32 does.
TEST(LargeNumbers, AreSummedByRingsUpToTheEndOfF32) {
  for (const auto& [workers, c] : {std::pair{2, 2}, {4, 1}, {4, 4}, {8, 2}, {8, 8}, {16, 16}}) {
    const LocalRanks ranks(plan_directory(Construction::ring, workers, c), workers);
    const float most = std::numeric_limits<float>::max();
    const Vectors results = all_reduce(ranks, constants(workers, 1000, most / static_cast<float>(workers)));
    for (const auto& result : results)
      for (const float x : result) ASSERT_EQ(x, most);
  }
}

}  // namespace
}  // namespace cerar::test
