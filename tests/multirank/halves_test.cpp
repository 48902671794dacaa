// Vectors in 16 bits: summed in f32, rounded once.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/measure/measure.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/plan_file.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::DataType;
using runtime::Input;
using runtime::LocalRanks;
using runtime::Wire;
using Halves = std::vector<std::uint16_t>;

struct Type {
  cerarDataType_t api;
  DataType type;
  double unit;  // relative rounding error at most
};
constexpr Type kTypes[] = {{cerarBfloat16, DataType::bf16, 0x1p-8}, {cerarFloat16, DataType::f16, 0x1p-11}};

Halves narrowed(const Type& type, const std::vector<float>& numbers) {
  Halves halves(numbers.size());
  runtime::narrow(type.type, numbers.data(), numbers.size(), halves.data(), 0);
  return halves;
}

std::vector<float> widened(const Type& type, const Halves& halves) {
  std::vector<float> numbers(halves.size());
  runtime::widen(type.type, halves.data(), 0, halves.size(), numbers.data());
  return numbers;
}

std::vector<Halves> all_reduce(const LocalRanks& ranks, const Type& type, const std::vector<Halves>& inputs,
                               bool in_place, cerarRedOp_t op) {
  auto outputs = inputs;
  if (!in_place)
    for (auto& output : outputs) std::fill(output.begin(), output.end(), std::uint16_t{0x7fff});
  ranks.run([&](int rank) {
    auto& output = outputs[static_cast<std::size_t>(rank)];
    const auto& input = in_place ? output : inputs[static_cast<std::size_t>(rank)];
    runtime::require_success(
        cerarAllReduce(input.data(), output.data(), output.size(), type.api, op, ranks.comm(rank), nullptr));
  });
  return outputs;
}

// Largest relative rms error of any rank against the sum in double.
double error_of(const Type& type, const std::vector<Halves>& inputs, const std::vector<Halves>& outputs,
                double divisor) {
  std::vector<double> exact(inputs[0].size());
  for (const auto& input : inputs) {
    const auto numbers = widened(type, input);
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += numbers[i] / divisor;
  }
  double worst = 0;
  for (const auto& output : outputs) {
    const auto numbers = widened(type, output);
    double square = 0, error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      square += exact[i] * exact[i];
      error += std::pow(numbers[i] - exact[i], 2);
    }
    worst = std::max(worst, std::sqrt(error / square));
  }
  return worst;
}

std::vector<Halves> inputs_of(const Type& type, int workers, std::size_t count) {
  std::vector<Halves> inputs;
  for (int rank = 0; rank < workers; ++rank)
    inputs.push_back(narrowed(type, runtime::make_input(Input::normal, rank, count)));
  return inputs;
}

TEST(Halves, AreSummedInF32AndRoundedOnce) {
  for (const Type& type : kTypes)
    for (const std::string& directory : {std::string(), plan_directory(Construction::ring, 6, 3),
                                         plan_directory(Construction::unimodular, 6, 4)}) {
      const LocalRanks ranks(directory, 6);
      for (const std::size_t count : {1u, 97u, 5000u, 100003u})
        for (const bool in_place : {false, true})
          for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
            const auto inputs = inputs_of(type, 6, count);
            const auto outputs = all_reduce(ranks, type, inputs, in_place, op);
            EXPECT_LE(error_of(type, inputs, outputs, op == cerarAverage ? 6 : 1), type.unit) << count;
          }
    }
}

TEST(Halves, CodesKeepTheirClaims) {
  for (const Type& type : kTypes)
    for (const Wire wire : {Wire::bf16, Wire::f16, Wire::fx16, Wire::f32})
      for (const int components : {8, 16, 64}) {
        const auto construction = components == 8 ? Construction::ring : Construction::differential;
        const auto directory = plan_directory(construction, 8, components, 2, wire);
        const LocalRanks ranks(directory, 8);
        const double claim = runtime::load_plan(directory).variants[0].claim.total;
        for (const bool in_place : {false, true}) {
          const auto inputs = inputs_of(type, 8, 64 * 32 * 30 + 5);
          const auto outputs = all_reduce(ranks, type, inputs, in_place, cerarSum);
          // The result's own rounding comes on top.
          EXPECT_LE(error_of(type, inputs, outputs, 1), std::hypot(1.1 * claim, 0.45 * type.unit))
              << directory;
        }
      }
}

TEST(Halves, AveragesDoNotOverflowWhereSumsDo) {
  const Type type = kTypes[1];
  for (const Wire wire : {Wire::f16, Wire::fx16, Wire::f32})
    for (const int components : {8, 32}) {
      const auto construction = components == 8 ? Construction::ring : Construction::differential;
      const LocalRanks ranks(plan_directory(construction, 8, components, 2, wire), 8);
      std::vector<Halves> inputs;
      for (int rank = 0; rank < 8; ++rank)
        inputs.push_back(
            narrowed(type, std::vector<float>(5000, 60000.0f - 100.0f * static_cast<float>(rank))));
      for (const auto& output : all_reduce(ranks, type, inputs, true, cerarAverage))
        for (const float x : widened(type, output)) ASSERT_NEAR(x, 59650, 59650 * 0.08);
      for (const auto& output : all_reduce(ranks, type, inputs, true, cerarSum))
        for (const float x : widened(type, output)) ASSERT_FALSE(std::isfinite(x));
    }
}

TEST(Halves, RanksMustAgreeOnTheType) {
  const LocalRanks ranks("", 2);
  std::string sentences[2];
  ranks.run([&](int rank) {
    std::vector<std::uint16_t> mine(100);
    EXPECT_EQ(cerarAllReduce(mine.data(), mine.data(), mine.size(), rank == 0 ? cerarFloat16 : cerarBfloat16,
                             cerarSum, ranks.comm(rank), nullptr),
              cerarMismatch);
    sentences[rank] = cerarGetLastError();
  });
  for (const auto& sentence : sentences) {
    EXPECT_NE(sentence.find("bf16"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(" f16"), std::string::npos) << sentence;
  }
}

TEST(Halves, PointersNeedTheirAlignmentAndNoMore) {
  const LocalRanks ranks("", 1);
  alignas(8) unsigned char bytes[64] = {};
  EXPECT_EQ(cerarAllReduce(bytes + 2, bytes + 2, 8, cerarFloat16, cerarSum, ranks.comm(0), nullptr),
            cerarSuccess);
  EXPECT_EQ(cerarAllReduce(bytes + 1, bytes + 1, 8, cerarFloat16, cerarSum, ranks.comm(0), nullptr),
            cerarInvalidArgument);
}

}  // namespace
}  // namespace cerar::test
