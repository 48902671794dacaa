// Properties of results that hold whatever the code: counts, alignment, repeatability, scales, non-finite
// values, storage.
#include "tests/multirank/vectors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/measure/measure.h"
#include "runtime/plan/plan_file.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Input;
using runtime::LocalRanks;
using runtime::make_input;

struct Case {
  const char* name;
  Construction construction;
  int workers;
  int components;
};

class Vector : public testing::TestWithParam<Case> {
 protected:
  std::string directory() const {
    return plan_directory(GetParam().construction, GetParam().workers, GetParam().components);
  }
  int workers() const { return GetParam().workers; }

  Vectors inputs(std::size_t count) const {
    Vectors vectors;
    for (int rank = 0; rank < workers(); ++rank) vectors.push_back(make_input(Input::normal, rank, count));
    return vectors;
  }
};

bool bit_equal(const Vectors& a, const Vectors& b) {
  for (std::size_t rank = 0; rank < a.size(); ++rank)
    if (std::memcmp(a[rank].data(), b[rank].data(), a[rank].size() * sizeof(float)) != 0) return false;
  return true;
}

TEST_P(Vector, AnyCountWorksAndNothingOutsideIsTouched) {
  const LocalRanks ranks(directory(), workers());
  const std::size_t row = static_cast<std::size_t>(GetParam().components) * 32;
  const double claimed = runtime::load_plan(directory()).variants[0].claim.total;
  const double limit = claimed > 0 ? 20 * claimed : 1e-6;
  constexpr float kGuard = 12345.0f;
  constexpr std::size_t kMargin = 67;  // odd, so that vectors are aligned to one element only
  for (std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{33}, row - 1, row, row + 1,
                            3 * row - 1, 3 * row + 1, 2 * row + row / 2}) {
    const Vectors original = inputs(count);
    Vectors padded;
    for (const auto& vector : original) {
      padded.emplace_back(count + 2 * kMargin, kGuard);
      std::copy(vector.begin(), vector.end(), padded.back().begin() + kMargin);
    }
    ranks.run([&](int rank) {
      float* const data = padded[static_cast<std::size_t>(rank)].data() + kMargin;
      runtime::require_success(
          cerarAllReduce(data, data, count, cerarFloat32, cerarSum, ranks.comm(rank), nullptr));
    });
    double error = 0, scale = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double exact = 0;
      for (const auto& vector : original) exact += vector[i];
      scale += exact * exact;
      for (const auto& vector : padded) error = std::max(error, std::abs(vector[kMargin + i] - exact));
    }
    EXPECT_LE(error, limit * std::sqrt(scale / static_cast<double>(count))) << "count " << count;
    for (const auto& vector : padded)
      for (std::size_t i = 0; i < kMargin; ++i) {
        ASSERT_EQ(vector[i], kGuard);
        ASSERT_EQ(vector[kMargin + count + i], kGuard);
      }
  }
}

// Codes with a decoder for vectors out of place get another result there, but not in the padded row, which is
// scratch of the runtime and worked on in place.
TEST_P(Vector, InPlaceAndOutOfPlaceAgreeBitForBitWhereTheyDecodeAlikeAndInputsStay) {
  const LocalRanks ranks(directory(), workers());
  constexpr std::size_t kCount = 10007;
  const Vectors original = inputs(kCount);
  const Vectors copy = original;
  Vectors in_place = all_reduce(ranks, original, true), out_of_place = all_reduce(ranks, original, false);
  EXPECT_TRUE(bit_equal(original, copy));
  const bool apart = runtime::load_plan(directory()).variants[0].claim_out_of_place.has_value();
  EXPECT_EQ(bit_equal(in_place, out_of_place), !apart);
  const std::size_t tail = kCount % (static_cast<std::size_t>(GetParam().components) * 32);
  ASSERT_GT(tail, 0u);
  for (Vectors* vectors : {&in_place, &out_of_place})
    for (auto& vector : *vectors)
      vector.erase(vector.begin(), vector.end() - static_cast<std::ptrdiff_t>(tail));
  EXPECT_TRUE(bit_equal(in_place, out_of_place)) << "padded row";
}

TEST_P(Vector, SameInputGivesTheSameBitsAHundredTimes) {
  const LocalRanks ranks(directory(), workers());
  const Vectors original = inputs(3001);
  const Vectors first = all_reduce(ranks, original);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bit_equal(first, all_reduce(ranks, original))) << "run " << i;
}

TEST_P(Vector, ZerosGiveZeros) {
  const LocalRanks ranks(directory(), workers());
  const Vectors zeros(static_cast<std::size_t>(workers()), std::vector<float>(5001, 0.0f));
  for (const bool in_place : {true, false})
    for (const auto& output : all_reduce(ranks, zeros, in_place))
      for (float x : output) ASSERT_EQ(x, 0.0f);
}

TEST_P(Vector, NonFiniteValuesReachEveryRankAndOnlyTheElementsMixedWithThem) {
  const LocalRanks ranks(directory(), workers());
  const int components = GetParam().components, terms = components / std::gcd(components, workers());
  const std::size_t row = static_cast<std::size_t>(terms) * 32,
                    count = row * static_cast<std::size_t>(workers()) * 3;
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity()})
    for (int culprit : {0, workers() - 1})
      for (std::size_t at : {std::size_t{5}, count / 2 + 40, count - 1}) {
        Vectors original = inputs(count);
        original[static_cast<std::size_t>(culprit)][at] = poison;
        const Vectors outputs = all_reduce(ranks, original, at != 5);
        for (const auto& output : outputs) {
          EXPECT_FALSE(std::isfinite(output[at])) << "rank of " << culprit << " element " << at;
          for (std::size_t i = 0; i < count; ++i)
            if (i % 32 != at % 32) {
              ASSERT_TRUE(std::isfinite(output[i])) << i << " beside " << at;
            }
        }
        std::size_t spread = 0;
        for (float x : outputs[0]) spread += std::isfinite(x) ? 0 : 1;
        EXPECT_LE(spread, static_cast<std::size_t>(terms));
      }
}

TEST_P(Vector, LayersOfDifferentScaleKeepTheirOwnRelativeError) {
  const auto claim = runtime::load_plan(directory()).variants[0].claim;
  const LocalRanks ranks(directory(), workers());
  const std::size_t layer = 5000, layers = 12, count = layer * layers;
  const auto scale_of = [&](std::size_t i) { return i / layer % 2 == 0 ? 1e-6f : 1.0f; };
  Vectors original = inputs(count);
  for (auto& vector : original)
    for (std::size_t i = 0; i < count; ++i) vector[i] *= scale_of(i);
  const Vectors outputs = all_reduce(ranks, original);
  // Elements that are mixed with each other lie in one row of r lines; rows that straddle a border hold both
  // scales and are accurate relative to the larger one.
  const int terms = GetParam().components / std::gcd(GetParam().components, workers());
  const std::size_t reach = static_cast<std::size_t>(terms) * 32;
  for (std::size_t l = 0; l < layers; ++l) {
    double square = 0, scale = 0;
    std::size_t checked = 0;
    for (std::size_t i = l * layer + reach; i + reach < (l + 1) * layer; ++i) {
      double exact = 0;
      for (const auto& vector : original) exact += vector[i];
      for (const auto& output : outputs) square += (output[i] - exact) * (output[i] - exact);
      scale += exact * exact * workers();
      ++checked;
    }
    ASSERT_GT(checked, 1000u);
    const double limit = claim.total > 0 ? 1.2 * claim.total : 1e-6;
    EXPECT_LE(std::sqrt(square / scale), limit) << "layer " << l;
  }
}

TEST_P(Vector, ManyCallsOfChangingSizeAndContent) {
  const LocalRanks ranks(directory(), workers());
  const double tolerance = std::max(1e-3, 10 * runtime::load_plan(directory()).variants[0].claim.total);
  ranks.run([&](int rank) {
    for (int i = 0; i < 200; ++i) {
      // Equal vectors of one number: the sum is known, approximate codes are nearly exact on them.
      std::vector<float> vector(static_cast<std::size_t>(1 + i * 37 % 5000), static_cast<float>(i + 1));
      runtime::require_success(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32,
                                              cerarSum, ranks.comm(rank), nullptr));
      const float expected = static_cast<float>((i + 1) * workers());
      for (float x : vector) ASSERT_NEAR(x, expected, tolerance * expected) << "call " << i;
    }
  });
}

constexpr Case kCases[] = {{"RingN8c1", Construction::ring, 8, 1},
                           {"RingN8c2", Construction::ring, 8, 2},
                           {"RingN8c8", Construction::ring, 8, 8},
                           {"RingN3c3", Construction::ring, 3, 3},
                           {"UnimodularN8c3", Construction::unimodular, 8, 3},
                           {"UnimodularN8c7", Construction::unimodular, 8, 7},
                           {"HarmonicN8c9", Construction::harmonic, 8, 9},
                           {"HarmonicN8c12", Construction::harmonic, 8, 12},
                           {"OptimizedN8c20", Construction::optimized, 8, 20},
                           {"HarmonicN8c36", Construction::harmonic, 8, 36},
                           {"OptimizedN4c8", Construction::optimized, 4, 8},
                           {"OptimizedN8c24", Construction::optimized, 8, 24},
                           {"DifferentialN3c6", Construction::differential, 3, 6},
                           {"DifferentialN4c12", Construction::differential, 4, 12},
                           {"DifferentialN8c64", Construction::differential, 8, 64}};
INSTANTIATE_TEST_SUITE_P(Codes, Vector, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// runtime/PROTOCOL.md, section 3: gradient plus scratch within 1 + N/c of the vector, in place, Q = N, N >=
// 4, from 1 MiB on.
TEST(Storage, ScratchStaysWithinNOverC) {
  const std::size_t count = 1 << 18;
  for (const auto& [construction, workers, terms] :
       std::vector<std::tuple<Construction, int, int>>{{Construction::ring, 4, 1},
                                                       {Construction::ring, 8, 1},
                                                       {Construction::optimized, 4, 2},
                                                       {Construction::optimized, 8, 4},
                                                       {Construction::differential, 4, 8},
                                                       {Construction::differential, 4, 32},
                                                       {Construction::differential, 8, 16},
                                                       {Construction::differential, 8, 32},
                                                       {Construction::differential, 16, 16}}) {
    const int c = workers * terms;
    const LocalRanks ranks(plan_directory(construction, workers, c), workers);
    runtime::measure_errors(ranks, {.count = count, .in_place = true});
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    ASSERT_EQ(cerarCommLastCall(ranks.comm(0), &info), cerarSuccess);
    EXPECT_GT(info.scratch_bytes, 0u);
    EXPECT_LE(static_cast<double>(info.scratch_bytes),
              static_cast<double>(workers) / c * count * sizeof(float))
        << "N = " << workers << " c = " << c;
    // The bytes that the rate promises, for a count that divides.
    EXPECT_EQ(info.sent_bytes,
              static_cast<std::uint64_t>(c + workers - 2) * count * sizeof(float) / static_cast<unsigned>(c));
  }
}

// With several chains per class, symbols wait in (N - Q)/c of the vector besides: within (N + 2)/c in all.
TEST(Storage, ScratchOfSeveralChainsStaysWithinNPlus2OverC) {
  for (const auto& [construction, workers, c] :
       std::vector<std::tuple<Construction, int, int>>{{Construction::unimodular, 8, 3},
                                                       {Construction::unimodular, 8, 6},
                                                       {Construction::unimodular, 8, 7},
                                                       {Construction::harmonic, 8, 9},
                                                       {Construction::harmonic, 8, 12},
                                                       {Construction::harmonic, 8, 36},
                                                       {Construction::harmonic, 16, 63}}) {
    const std::size_t count = static_cast<std::size_t>(c) * 32 * (1 + (1 << 18) / (c * 32));
    const LocalRanks ranks(plan_directory(construction, workers, c), workers);
    runtime::measure_errors(ranks, {.count = count, .in_place = true});
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    ASSERT_EQ(cerarCommLastCall(ranks.comm(0), &info), cerarSuccess);
    EXPECT_LE(info.scratch_bytes * static_cast<std::uint64_t>(c), (workers + 2) * count * sizeof(float))
        << "N = " << workers << " c = " << c;
    EXPECT_EQ(info.sent_bytes * static_cast<std::uint64_t>(c),
              static_cast<std::uint64_t>(c + workers - 2) * count * sizeof(float));
  }
}

TEST(Average, LargeValuesDoNotOverflowInTheResult) {
  // The sum of eight such numbers fits f32, and so must the average, which is divided where it is decoded.
  const LocalRanks ranks(plan_directory(Construction::differential, 8, 64), 8);
  ranks.run([&](int rank) {
    std::vector<float> vector(4096, 4e37f);
    runtime::require_success(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32,
                                            cerarAverage, ranks.comm(rank), nullptr));
    for (float x : vector) ASSERT_NEAR(x, 4e37f, 4e34f);
  });
}

}  // namespace
}  // namespace cerar::test
