// Predictions against real messages, sent hop by hop. "Golden" are measurements of an independent prototype.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/message_simulation.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/differential/differential.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/optimise/optimise_code.h"

namespace cerar::tuner {
namespace {

using testing::Gradients;
using testing::Measured;
using testing::simulate;

constexpr double kTolerance = 0.15;

struct WireCase {
  int bits;
  double nu;
};
constexpr WireCase kF32{24, kNuF32}, kF16{11, kNuF16}, kBf16{8, kNuBf16};

TEST(Simulation, PlainHarmonicCodesMeasureWhatTheyClaim) {
  const struct {
    int workers, terms;
    double golden;
  } cases[] = {{4, 2, 1.3e-4}, {8, 2, 1.5e-4}, {8, 3, 2.6e-3}, {8, 4, 1.09e-2}, {6, 3, 2.5e-3}};
  for (const auto& c : cases) {
    const OptimisedCode code = best_harmonic(c.workers, c.workers * c.terms, {.nu = kNuF32});
    const PlainDesign design = plain_design(code.code, kNuF32);
    const Measured measured = simulate(code.code.shape, design.tables, {});
    EXPECT_NEAR(measured.error / c.golden, 1, kTolerance) << c.workers << ", " << c.terms;
    EXPECT_NEAR(measured.error / design.claim.total, 1, kTolerance) << c.workers << ", " << c.terms;
    EXPECT_GT(measured.rank_difference, 0.7 * measured.error);
    EXPECT_LT(measured.rank_difference, 1.0 * measured.error);
  }
}

TEST(Simulation, OptimisedCodesMeasureWhatTheyClaim) {
  for (const auto& [workers, components, limit] :
       {std::tuple{8, 24, 10.0}, {8, 32, 100.0}, {16, 48, 1e3}, {8, 48, 1e4}, {8, 20, 1e3}, {6, 15, 1e3}}) {
    const OptimisedCode code = optimise_code(workers, components, {.nu = kNuF32, .condition_limit = limit});
    const PlainDesign design = plain_design(code.code, kNuF32);
    EXPECT_NEAR(design.claim.total / code.error, 1, 0.01);
    EXPECT_NEAR(simulate(code.code.shape, design.tables, {}).error / design.claim.total, 1, kTolerance)
        << workers << ", " << components;
  }
}

TEST(Simulation, CodesWithSeveralChainsMeasureWhatTheyClaim) {
  for (const auto& [workers, components] : {std::pair{8, 9}, {8, 12}, {4, 6}, {6, 15}, {8, 20}}) {
    const PlainCode code = harmonic_code(workers, components, 0.05);
    const PlainDesign design = plain_design(code, kNuF32);
    EXPECT_NEAR(simulate(code.shape, design.tables, {}).error / design.claim.total, 1, kTolerance)
        << workers << ", " << components;
  }
  for (int components : {1, 2, 3, 5, 6, 7, 8}) {
    const PlainCode code = harmonic_code(8, components, 0.05);
    EXPECT_LT(simulate(code.shape, plain_design(code, kNuF32).tables, {}).error, 5e-7) << components;
  }
}

TEST(Simulation, DifferentialCodesMeasureWhatTheyClaim) {
  const struct {
    int workers, terms;
    double f32, f16, bf16, own_f32, own_bf16;
  } cases[] = {
      {4, 2, 1.23e-4, 1.08e-2, 3.08e-2, 0, 0},        {4, 4, 1.50e-4, 1.32e-2, 3.77e-2, 1.20e-4, 0},
      {8, 4, 1.85e-4, 1.60e-2, 4.49e-2, 1.61e-4, 0},  {8, 8, 2.00e-4, 1.72e-2, 4.86e-2, 1.74e-4, 4.39e-2},
      {8, 16, 2.07e-4, 1.77e-2, 5.03e-2, 1.80e-4, 0}, {16, 8, 2.33e-4, 2.05e-2, 5.82e-2, 2.19e-4, 0}};
  for (const auto& c : cases) {
    const auto check = [&](const WireCase& wire, bool own_exact, double golden) {
      if (golden == 0) return;  // not measured by the prototype
      const DifferentialDesign design = best_differential(c.workers, c.terms, wire.nu, own_exact).design;
      const runtime::Shape shape = runtime::make_shape(c.workers, c.workers * c.terms);
      const Measured measured = simulate(shape, design.tables, {.wire_bits = wire.bits});
      EXPECT_NEAR(measured.error / golden, 1, wire.bits == 24 ? kTolerance : 0.05)
          << c.workers << ", " << c.terms << ", " << wire.bits << own_exact;
      EXPECT_NEAR(measured.error / design.claim.total, 1, kTolerance)
          << c.workers << ", " << c.terms << ", " << wire.bits << own_exact;
    };
    check(kF32, false, c.f32);
    check(kF16, false, c.f16);
    check(kBf16, false, c.bf16);
    check(kF32, true, c.own_f32);
    check(kBf16, true, c.own_bf16);
  }
}

TEST(Simulation, ClaimedApproximationIsThatOfMessagesWithoutNoise) {
  // A drift so large that the rounding of f32 does not show.
  for (bool own_exact : {false, true}) {
    const DifferentialDesign design = differential_design(6, 9, 0.1f, 0, own_exact);
    const Measured measured = simulate(runtime::make_shape(6, 54), design.tables, {.elements = 100000});
    EXPECT_NEAR(measured.error / design.claim.approximation, 1, 0.03) << own_exact;
  }
}

TEST(Simulation, EqualGradientsHaveAnErrorOfSecondOrder) {
  const auto common_error = [](float epsilon) {
    const DifferentialDesign design = differential_design(8, 8, epsilon, 0, false);
    return simulate(runtime::make_shape(8, 64), design.tables, {.gradients = Gradients::equal}).error;
  };
  const double wide = common_error(0.2f), close = common_error(0.1f);
  EXPECT_GT(std::log2(wide / close), 1.8);
  const DifferentialDesign design = differential_design(8, 8, 0.1f, 0, false);
  EXPECT_LT(close, 0.1 * design.claim.approximation);
}

}  // namespace
}  // namespace cerar::tuner
