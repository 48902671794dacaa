// Vectors as gradients often are, and independent numbers are not: equal on all ranks, constant, rising,
// alternating. Messages are dithered, so that roundings do not add up and claims cover them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
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
using runtime::Input;
using runtime::LocalRanks;
using runtime::Wire;

struct Pattern {
  const char* name;
  std::function<float(std::size_t at)> element;
};

const Pattern kPatterns[] = {
    {"a constant of 0.1", [](std::size_t) { return 0.1f; }},
    {"a constant of 1/3", [](std::size_t) { return 1 / 3.0f; }},
    {"a constant of -0.7", [](std::size_t) { return -0.7f; }},
    {"a constant of 1", [](std::size_t) { return 1.0f; }},
    {"a constant of 3.14159", [](std::size_t) { return 3.14159f; }},
    {"a ramp", [](std::size_t at) { return 1e-3f * static_cast<float>(at % 5000); }},
    {"a steep ramp", [](std::size_t at) { return 0.37f * static_cast<float>(at % 97) - 15; }},
    {"alternating signs", [](std::size_t at) { return at % 2 == 0 ? 0.1f : -0.1f; }},
    {"alternating constants", [](std::size_t at) { return at % 2 == 0 ? 1.1f : -0.3f; }},
};

struct Code {
  Construction construction;
  int workers, components;
};

double error_of(const Vectors& inputs, const Vectors& results, double divisor) {
  double square = 0, error = 0;
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    double exact = 0;
    for (const auto& input : inputs) exact += input[i] / divisor;
    square += exact * exact * static_cast<double>(inputs.size());
    for (const auto& result : results) error += (result[i] - exact) * (result[i] - exact);
  }
  return std::sqrt(error / square);
}

void expect_within_claim(const Code& code, Wire wire) {
  const std::string directory = plan_directory(code.construction, code.workers, code.components, 2, wire);
  const LocalRanks ranks(directory, code.workers);
  const double claim = runtime::load_plan(directory).variants[0].claim.total;
  const std::size_t count =
      static_cast<std::size_t>(code.components) * 32 * std::max(1, 200 / code.components) + 77;
  std::vector<std::pair<std::string, Vectors>> cases;
  for (const Pattern& pattern : kPatterns) {
    std::vector<float> vector(count);
    for (std::size_t i = 0; i < count; ++i) vector[i] = pattern.element(i);
    cases.emplace_back(pattern.name, Vectors(static_cast<std::size_t>(code.workers), vector));
  }
  cases.emplace_back("normal numbers", Vectors(static_cast<std::size_t>(code.workers),
                                               runtime::make_input(Input::normal, 0, count)));
  for (const auto& [name, inputs] : cases)
    for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
      const double ratio =
          error_of(inputs, all_reduce(ranks, inputs, true, op), op == cerarAverage ? code.workers : 1) /
          claim;
      // Additions in f32 of equal numbers round alike; these codes are not dithered there.
      const bool undithered = code.construction == Construction::unimodular && wire == Wire::f32;
      EXPECT_LE(ratio, undithered ? 1.8 : 1.4) << directory << ", " << name;
    }
}

constexpr Code kCodes[] = {{Construction::ring, 3, 3},          {Construction::ring, 8, 2},
                           {Construction::ring, 16, 16},        {Construction::unimodular, 8, 7},
                           {Construction::unimodular, 16, 11},  {Construction::harmonic, 8, 12},
                           {Construction::differential, 4, 16}, {Construction::differential, 8, 64}};

TEST(Patterns, StayWithinFourTenthsAboveTheClaim) {
  for (const Code& code : kCodes)
    for (const auto& format : runtime::wire_formats()) {
      const bool exact = code.construction == Construction::ring && format.wire == Wire::f32;
      if (!exact) expect_within_claim(code, format.wire);
    }
}

TEST(Patterns, IndependentNumbersAreAsExactAsClaimed) {
  for (const Code& code : kCodes)
    for (const auto& format : runtime::wire_formats()) {
      const bool exact = code.construction == Construction::ring && format.wire == Wire::f32;
      if (exact) continue;
      const std::string directory =
          plan_directory(code.construction, code.workers, code.components, 2, format.wire);
      const LocalRanks ranks(directory, code.workers);
      const double claim = runtime::load_plan(directory).variants[0].claim.total;
      const std::size_t count =
          static_cast<std::size_t>(code.components) * 32 * std::max(1, 600 / code.components) + 77;
      const double ratio =
          runtime::measure_errors(ranks, {.count = count, .in_place = true}).relative_rms / claim;
      EXPECT_GE(ratio, 0.8) << directory;
      EXPECT_LE(ratio, 1.25) << directory;
    }
}

}  // namespace
}  // namespace cerar::test
