// One number of components after the other: are results as exact as the plan claims?
#include <gtest/gtest.h>

#include <string>

#include "runtime/measure/measure.h"
#include "runtime/plan/plan_file.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::LocalRanks;
using runtime::Wire;

Construction construction_of(int workers, int components) {
  if (components > workers) return Construction::harmonic;
  return workers % components == 0 ? Construction::ring : Construction::unimodular;
}

void expect_as_claimed(int workers, int components, Wire wire) {
  const auto construction = construction_of(workers, components);
  if (wire == Wire::f32 && construction == Construction::ring) return;  // sums in f32 and nothing else
  const std::string directory = plan_directory(construction, workers, components, 2, wire);
  const LocalRanks ranks(directory, workers);
  const std::size_t count = static_cast<std::size_t>(components) * 32 * (1200 / components + 1) + 77;
  const double ratio = runtime::measure_errors(ranks, {.count = count, .in_place = true}).relative_rms /
                       runtime::load_plan(directory).variants[0].claim.total;
  EXPECT_GE(ratio, 0.8) << directory;
  EXPECT_LE(ratio, 1.25) << directory;
}

// Each number once, with ranks and messages in turn, and of those above ten only some: kernels for all of
// them, up to 17 for 4 and for 8 ranks in both messages, take a minute to compile.
TEST(Sweep, NumbersOfComponentsAreAsExactAsClaimed) {
  for (const int components : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16})
    expect_as_claimed(components % 2 == 0 ? 4 : 8, components, components % 4 < 2 ? Wire::fx16 : Wire::f32);
}

}  // namespace
}  // namespace cerar::test
