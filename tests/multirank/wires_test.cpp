// Messages in 16, 12 and 8 bits between real ranks: errors, bytes, special values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/measure/measure.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wire.h"
#include "tests/multirank/vectors.h"
#include "tests/support/plans.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Input;
using runtime::LocalRanks;
using runtime::Wire;

constexpr Wire kNarrow[] = {Wire::bf16, Wire::f16, Wire::fx16, Wire::fx12, Wire::fx8};
constexpr Wire kBlocks[] = {Wire::fx16, Wire::fx12, Wire::fx8};

std::vector<double> sum_of(const Vectors& vectors) {
  std::vector<double> sum(vectors[0].size());
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  return sum;
}

// What one rank sends for each element.
double sent_per_element(const LocalRanks& ranks, std::size_t count) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  runtime::require_success(cerarCommLastCall(ranks.comm(0), &info));
  return static_cast<double>(info.sent_bytes) / static_cast<double>(count);
}

struct Row {
  int workers;
  Construction construction;
  int terms;  // r; 0 for the ring
  Wire wire;
  double bytes, error;
};

// An independent prototype's message-level simulation: bytes per element sent per rank, relative rms error.
constexpr Row kPrototype[] = {
    {4, Construction::ring, 0, Wire::bf16, 3.00, 0.25e-2},
    {4, Construction::ring, 0, Wire::fx16, 3.05, 0.0038e-2},
    {4, Construction::ring, 0, Wire::fx12, 2.30, 0.060e-2},
    {4, Construction::ring, 0, Wire::fx8, 1.55, 0.97e-2},
    {4, Construction::differential, 4, Wire::fx16, 2.29, 0.37e-2},
    {4, Construction::differential, 16, Wire::fx16, 2.09, 0.41e-2},
    {4, Construction::differential, 16, Wire::f32, 4.13, 0.013e-2},
    {8, Construction::ring, 0, Wire::bf16, 3.50, 0.35e-2},
    {8, Construction::ring, 0, Wire::fx16, 3.55, 0.0053e-2},
    {8, Construction::ring, 0, Wire::fx12, 2.68, 0.085e-2},
    {8, Construction::ring, 0, Wire::fx8, 1.80, 1.36e-2},
    {8, Construction::differential, 4, Wire::fx16, 2.41, 0.50e-2},
    {8, Construction::differential, 16, Wire::fx16, 2.13, 0.56e-2},
    {8, Construction::differential, 16, Wire::f32, 4.19, 0.018e-2},
    {8, Construction::differential, 4, Wire::fx12, 1.82, 2.0e-2},
    {8, Construction::differential, 16, Wire::fx12, 1.60, 2.2e-2},
    {16, Construction::ring, 0, Wire::bf16, 3.75, 0.48e-2},
    {16, Construction::ring, 0, Wire::fx16, 3.81, 0.0073e-2},
    {16, Construction::ring, 0, Wire::fx12, 2.87, 0.117e-2},
    {16, Construction::ring, 0, Wire::fx8, 1.93, 1.88e-2},
    {16, Construction::differential, 4, Wire::fx16, 2.48, 0.62e-2},
    {16, Construction::differential, 16, Wire::fx16, 2.14, 0.70e-2},
    {16, Construction::differential, 16, Wire::f32, 4.22, 0.023e-2},
};

TEST(Wires, ReachThePrototypesErrorsAndBytes) {
  for (const Row& row : kPrototype) {
    const int components = row.terms == 0 ? row.workers : row.terms * row.workers;
    const std::string directory = plan_directory(row.construction, row.workers, components, 2, row.wire);
    const std::string what = std::to_string(row.workers) + " workers, " + directory;
    const LocalRanks ranks(directory, row.workers);
    // Whole blocks: the padded row is bytes more.
    const std::size_t count = static_cast<std::size_t>(components) * 32 * 64;
    const auto errors = runtime::measure_errors(ranks, {.count = count, .in_place = true});
    EXPECT_NEAR(errors.relative_rms / row.error, 1, 0.1) << what;
    EXPECT_EQ(errors.wrong, 0u) << what;
    // The table's figures have three digits.
    EXPECT_NEAR(sent_per_element(ranks, count) / row.bytes, 1, 0.01) << what;
    const double claim = runtime::load_plan(directory).variants[0].claim.total;
    EXPECT_GE(errors.relative_rms, 0.8 * claim) << what;
    EXPECT_LE(errors.relative_rms, 1.25 * claim) << what;
  }
}

TEST(Wires, PredictionsHoldForEveryCode) {
  struct Code {
    Construction construction;
    int workers, components;
  };
  for (const Code code : {Code{Construction::ring, 8, 4}, Code{Construction::ring, 8, 1},
                          Code{Construction::unimodular, 8, 7}, Code{Construction::unimodular, 6, 4},
                          Code{Construction::harmonic, 8, 16}, Code{Construction::harmonic, 8, 12},
                          Code{Construction::optimized, 8, 24}, Code{Construction::optimized, 4, 8},
                          Code{Construction::differential, 8, 16}, Code{Construction::differential, 6, 48}})
    for (const Wire wire : kNarrow) {
      if (code.construction == Construction::optimized && wire == Wire::fx8) continue;  // beyond any use
      const std::string directory = plan_directory(code.construction, code.workers, code.components, 2, wire);
      const LocalRanks ranks(directory, code.workers);
      const auto variant = runtime::load_plan(directory).variants[0];
      const std::size_t count = static_cast<std::size_t>(code.components) * 32 * 100 + 77;
      for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
        const double claim = claim_of(variant, op == cerarSum).total;
        const auto errors =
            runtime::measure_errors(ranks, {.count = count, .op = op, .in_place = op == cerarSum});
        EXPECT_GE(errors.relative_rms, 0.8 * claim) << directory;
        EXPECT_LE(errors.relative_rms, 1.25 * claim) << directory;
      }
    }
}

// Without dither ranks that hold equal vectors would round alike, and their errors would not average out.
TEST(Wires, EqualVectorsStayNearTheClaim) {
  for (const Wire wire : kNarrow)
    for (const int components : {8, 32, 128}) {
      const auto construction = components == 8 ? Construction::ring : Construction::differential;
      const std::string directory = plan_directory(construction, 8, components, 2, wire);
      const LocalRanks ranks(directory, 8);
      const auto errors = runtime::measure_errors(ranks, {.count = 128u * 32 * 20, .input = Input::equal});
      EXPECT_LE(errors.relative_rms, 1.1 * runtime::load_plan(directory).variants[0].claim.total)
          << directory;
    }
}

// Two ranks, one with zeros: of half the numbers the sum alone is rounded, of the others the first message as
// well.
TEST(Wires, NuIsWhatTheModelSays) {
  for (const Wire wire : kNarrow)
    for (const int block : {32, 64, 128}) {
      if (!runtime::is_block_wire(wire) && block != 128) continue;
      const LocalRanks ranks(plan_directory(Construction::ring, 2, 2, 2, wire, block), 2);
      constexpr std::size_t kCount = 1 << 20;
      // As numbers of no particular scale for floating point; normal for blocks.
      auto numbers = runtime::make_input(Input::normal, 0, kCount);
      if (!runtime::is_block_wire(wire)) {
        std::mt19937_64 random(5);
        std::uniform_real_distribution<double> exponent(0, 8);
        for (float& x : numbers) x = static_cast<float>(std::copysign(std::exp2(exponent(random)), x));
      }
      const auto result = all_reduce(ranks, {numbers, std::vector<float>(kCount)});
      double square = 0, error = 0, relative = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        const double difference = static_cast<double>(result[0][i]) - numbers[i];
        square += static_cast<double>(numbers[i]) * numbers[i];
        error += difference * difference;
        relative += difference * difference / (static_cast<double>(numbers[i]) * numbers[i]);
      }
      const double measured =
          std::sqrt(runtime::is_block_wire(wire) ? error / square : relative / static_cast<double>(kCount));
      EXPECT_NEAR(measured / (std::sqrt(1.5) * tuner::nu_of(wire, block)), 1, 0.01)
          << runtime::name_of(wire) << ", " << block;
      EXPECT_EQ(result[0], result[1]);
    }
}

// An exact scale against a power of two, the choice that the plan format does not offer.
TEST(Wires, APowerOfTwoAsScaleWouldCostFourTenthsMore) {
  const auto numbers = runtime::make_input(Input::normal, 0, 1 << 18);
  double exact = 0, power = 0;
  for (std::size_t begin = 0; begin < numbers.size(); begin += 128) {
    float largest = 0;
    for (std::size_t i = begin; i < begin + 128; ++i) largest = std::max(largest, std::abs(numbers[i]));
    const auto square_of_error = [&](double scale) {
      double sum = 0;
      for (std::size_t i = begin; i < begin + 128; ++i)
        sum += std::pow(std::nearbyint(numbers[i] / scale) * scale - numbers[i], 2);
      return sum;
    };
    exact += square_of_error(largest / 32767.0);
    power += square_of_error(std::exp2(std::ceil(std::log2(largest / 32767.0))));
  }
  EXPECT_NEAR(std::sqrt(power / exact), 1.4, 0.1);
}

TEST(Wires, AllRanksOfARingEndBitIdentical) {
  for (const Wire wire : kNarrow) {
    const LocalRanks ranks(plan_directory(Construction::ring, 5, 5, 2, wire), 5);
    Vectors inputs;
    for (int rank = 0; rank < 5; ++rank) inputs.push_back(runtime::make_input(Input::normal, rank, 5003));
    for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
      const Vectors results = all_reduce(ranks, inputs, true, op);
      for (const auto& result : results) EXPECT_EQ(result, results[0]) << runtime::name_of(wire);
    }
  }
}

TEST(Wires, LayersOfDifferentScaleKeepTheirOwnError) {
  constexpr double kScales[] = {1e-6, 1e2, 1e-3, 1, 1e-5, 10, 1e-6, 1e-1};
  constexpr std::size_t kLayer = 40000;
  for (const Wire wire : kBlocks)
    for (const int components : {8, 32, 128}) {
      const auto construction = components == 8 ? Construction::ring : Construction::differential;
      const std::string directory = plan_directory(construction, 8, components, 2, wire);
      const LocalRanks ranks(directory, 8);
      Vectors inputs;
      for (int rank = 0; rank < 8; ++rank) {
        inputs.push_back(runtime::make_input(Input::normal, rank, kLayer * std::size(kScales)));
        for (std::size_t i = 0; i < inputs.back().size(); ++i)
          inputs.back()[i] *= static_cast<float>(kScales[i / kLayer]);
      }
      const auto exact = sum_of(inputs);
      const auto results = all_reduce(ranks, inputs);
      // A block is four lines of 32 elements, r lines apart: what lies so close to a border straddles it.
      const std::size_t straddles = 4 * 32 * static_cast<std::size_t>(components / 8);
      const double claim = runtime::load_plan(directory).variants[0].claim.total;
      for (std::size_t layer = 0; layer < std::size(kScales); ++layer) {
        double square = 0, error = 0;
        for (const auto& result : results)
          for (std::size_t i = layer * kLayer + straddles; i < (layer + 1) * kLayer - straddles; ++i) {
            square += exact[i] * exact[i];
            error += std::pow(result[i] - exact[i], 2);
          }
        EXPECT_LE(std::sqrt(error / square), 1.3 * claim) << directory << ", layer " << layer;
      }
    }
}

TEST(Wires, NumbersThatAreNotFiniteStaySoOnEveryRank) {
  for (const Wire wire : kNarrow)
    for (const int components : {4, 8, 64}) {
      const auto construction = components == 4 ? Construction::ring : Construction::differential;
      const LocalRanks ranks(plan_directory(construction, 4, components, 2, wire), 4);
      constexpr std::size_t kCount = 20011;
      std::mt19937 random(3);
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
        Vectors inputs;
        for (int rank = 0; rank < 4; ++rank)
          inputs.push_back(runtime::make_input(Input::normal, rank, kCount));
        std::vector<std::size_t> places = {0, kCount - 1};
        for (int i = 0; i < 6; ++i) places.push_back(random() % kCount);
        for (const std::size_t place : places) inputs[random() % 4][place] = bad;
        const Vectors results = all_reduce(ranks, inputs);
        // With it go its block of 128 and the r components mixed with each of those.
        const std::size_t most = places.size() * 128 * static_cast<std::size_t>(std::max(1, components / 4));
        for (const auto& result : results) {
          for (const std::size_t place : places) EXPECT_FALSE(std::isfinite(result[place])) << place;
          std::size_t lost = 0;
          for (const float x : result) lost += std::isfinite(x) ? 0 : 1;
          EXPECT_LE(lost, most) << runtime::name_of(wire) << " c = " << components;
        }
      }
    }
}

TEST(Wires, ZerosStayZerosAndTinyNumbersAreNeverGarbage) {
  for (const Wire wire : kNarrow)
    for (const int components : {4, 16}) {
      const auto construction = components == 4 ? Construction::ring : Construction::differential;
      const LocalRanks ranks(plan_directory(construction, 4, components, 2, wire), 4);
      const Vectors zeros(4, std::vector<float>(3001));
      EXPECT_EQ(all_reduce(ranks, zeros), zeros);
      // Subnormal numbers, and those whose scale would be.
      for (const float scale : {0x1p-149f, 0x1p-140f, 0x1p-126f, 0x1p-120f, 0x1p-112f, 0x1p-110f}) {
        Vectors inputs;
        for (int rank = 0; rank < 4; ++rank) {
          inputs.push_back(runtime::make_input(Input::normal, rank, 3001));
          for (float& x : inputs.back()) x *= scale;
        }
        const auto exact = sum_of(inputs);
        double largest = 0;
        for (const double x : exact) largest = std::max(largest, std::abs(x));
        for (const auto& result : all_reduce(ranks, inputs))
          for (std::size_t i = 0; i < result.size(); ++i) {
            EXPECT_TRUE(std::isfinite(result[i]));
            EXPECT_LE(std::abs(result[i]), 2 * largest + 0x1p-126) << runtime::name_of(wire) << " " << scale;
          }
      }
    }
}

TEST(Wires, OneHugeValueAmongTinyOnesDrownsOnlyItsBlock) {
  for (const Wire wire : kBlocks) {
    const LocalRanks ranks(plan_directory(Construction::ring, 4, 4, 2, wire), 4);
    constexpr std::size_t kCount = 4096;  // a class is 1024 elements, 8 blocks
    Vectors inputs(4, std::vector<float>(kCount, 1e-3f));
    inputs[2][1000] = 1e30f;
    const auto results = all_reduce(ranks, inputs);
    const double step = 1e30 / (std::exp2(runtime::format_of(wire).bits - 1) - 1);
    for (const auto& result : results)
      for (std::size_t i = 0; i < kCount; ++i) {
        if (i / 128 == 1000 / 128)
          EXPECT_LE(std::abs(result[i] - (i == 1000 ? 1e30 : 0)), step);
        else
          EXPECT_NEAR(result[i], 4e-3, 4e-3 * 0.05) << i;
      }
  }
}

}  // namespace
}  // namespace cerar::test
