// What "exact" and "identical on all ranks" mean, held through the C API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

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

// Blocks of 1000 elements, large ones beside small ones.
Vectors blocks_of_two_scales(int workers, std::size_t count) {
  Vectors inputs;
  for (int rank = 0; rank < workers; ++rank) {
    inputs.push_back(runtime::make_input(runtime::Input::normal, rank, count));
    for (std::size_t i = 0; i < count; ++i) inputs.back()[i] *= i / 1000 % 2 == 0 ? 1e4f : 1e-4f;
  }
  return inputs;
}

// Elements of any rank that are off by more than N x 2^-24 of the sum of magnitudes.
std::size_t inexact_elements(const Vectors& inputs, const Vectors& results, double divisor) {
  std::size_t inexact = 0;
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    double sum = 0, magnitudes = 0;
    for (const auto& input : inputs) {
      sum += input[i] / divisor;
      magnitudes += std::abs(input[i] / divisor);
    }
    const double limit = static_cast<double>(inputs.size()) * 0x1p-24 * magnitudes;
    for (const auto& result : results) inexact += std::abs(result[i] - sum) <= limit ? 0 : 1;
  }
  return inexact;
}

bool are_identical(const Vectors& results) {
  return std::all_of(results.begin(), results.end(),
                     [&](const auto& result) { return result == results[0]; });
}

TEST(Exact, EveryElementIsASumInF32WhateverStandsBesideIt) {
  for (const int workers : {2, 3, 4, 6, 8, 12, 16})
    for (int c = 1; c <= workers; ++c) {
      if (workers % c != 0) continue;
      const std::string directory = plan_directory(Construction::ring, workers, c);
      ASSERT_TRUE(runtime::is_exact(runtime::load_plan(directory).variants[0]));
      const LocalRanks ranks(directory, workers);
      const Vectors inputs = blocks_of_two_scales(workers, 20017);
      for (const cerarRedOp_t op : {cerarSum, cerarAverage})
        for (const bool in_place : {false, true})
          EXPECT_EQ(inexact_elements(inputs, all_reduce(ranks, inputs, in_place, op),
                                     op == cerarAverage ? workers : 1),
                    0u)
              << directory;
    }
}

// Small elements are lost in the rounding of large neighbours, so these codes must not call themselves exact.
TEST(Exact, IsNoCodeThatMixesComponents) {
  for (const auto& [workers, c] : {std::pair{4, 3}, {6, 4}, {8, 3}, {8, 5}, {8, 6}, {12, 8}}) {
    const std::string directory = plan_directory(Construction::unimodular, workers, c);
    const auto variant = runtime::load_plan(directory).variants[0];
    EXPECT_FALSE(runtime::is_exact(variant));
    EXPECT_GT(variant.claim.total, 0);
    const LocalRanks ranks(directory, workers);
    const Vectors inputs = blocks_of_two_scales(workers, 20017);
    EXPECT_GT(inexact_elements(inputs, all_reduce(ranks, inputs), 1), 0u) << directory;
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    ASSERT_EQ(cerarCommLastCall(ranks.comm(0), &info), cerarSuccess);
    EXPECT_GT(info.claimed_error, 0);
  }
}

struct Kind {
  Construction construction;
  int workers, components;
};
// Each with messages of f32, and some with others.
constexpr Kind kKinds[] = {
    {Construction::ring, 2, 1},         {Construction::ring, 2, 2},       {Construction::ring, 8, 1},
    {Construction::ring, 8, 2},         {Construction::ring, 8, 4},       {Construction::ring, 8, 8},
    {Construction::ring, 5, 5},         {Construction::ring, 3, 1},       {Construction::ring, 16, 16},
    {Construction::unimodular, 8, 5},   {Construction::unimodular, 6, 4}, {Construction::harmonic, 4, 8},
    {Construction::harmonic, 4, 6},     {Construction::optimized, 4, 8},  {Construction::differential, 4, 8},
    {Construction::differential, 8, 32}};

TEST(Identical, OnAllRanksWhereAPlanSaysSoAndNowhereElse) {
  for (const Kind& kind : kKinds)
    for (const auto& format : runtime::wire_formats()) {
      const bool in_every_type =
          kind.construction == Construction::ring && kind.workers == 8 && kind.components != 4;
      if (format.wire != Wire::f32 && !in_every_type && !(format.wire == Wire::fx16 && kind.components > 8))
        continue;
      const std::string directory =
          plan_directory(kind.construction, kind.workers, kind.components, 2, format.wire);
      const bool identical = is_identical_on_all_ranks(runtime::load_plan(directory).variants[0]);
      const LocalRanks ranks(directory, kind.workers);
      Vectors inputs;
      for (int rank = 0; rank < kind.workers; ++rank)
        inputs.push_back(runtime::make_input(runtime::Input::normal, rank, 5003));
      for (const cerarRedOp_t op : {cerarSum, cerarAverage})
        for (const bool in_place : {false, true}) {
          EXPECT_EQ(are_identical(all_reduce(ranks, inputs, in_place, op)), identical) << directory;
          cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
          ASSERT_EQ(cerarCommLastCall(ranks.comm(kind.workers - 1), &info), cerarSuccess);
          EXPECT_EQ(info.identical, identical ? 1 : 0) << directory;
        }
    }
}

TEST(Identical, HoldsForTheBuiltInRingAndWhereNothingIsSent) {
  for (const int workers : {1, 3, 8}) {
    const LocalRanks ranks("", workers);
    for (const std::size_t count : {0u, 1u, 5003u}) {
      Vectors inputs;
      for (int rank = 0; rank < workers; ++rank)
        inputs.push_back(runtime::make_input(runtime::Input::normal, rank, count));
      EXPECT_TRUE(are_identical(all_reduce(ranks, inputs)));
      cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
      ASSERT_EQ(cerarCommLastCall(ranks.comm(0), &info), cerarSuccess);
      EXPECT_EQ(info.identical, 1);
    }
  }
}

}  // namespace
}  // namespace cerar::test
