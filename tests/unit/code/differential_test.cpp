#include "tuner/code/differential/differential.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "runtime/base/error.h"
#include "tuner/code/differential/band.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/optimise/optimise_code.h"

namespace cerar::tuner {
namespace {

TEST(Differential, MatchesTheGoldenTotals) {
  const struct {
    int workers, terms;
    double f32, f16, bf16, own_f32, own_bf16;
  } golden[] = {{4, 2, 1.42e-4, 1.08e-2, 3.06e-2, 0, 0},
                {4, 4, 1.74e-4, 1.32e-2, 3.75e-2, 1.38e-4, 0},
                {8, 4, 2.10e-4, 1.59e-2, 4.51e-2, 1.89e-4, 0},
                {8, 8, 2.27e-4, 1.71e-2, 4.87e-2, 2.05e-4, 4.41e-2},
                {8, 16, 2.35e-4, 1.77e-2, 5.04e-2, 2.12e-4, 0},
                {16, 8, 2.70e-4, 2.05e-2, 5.84e-2, 2.57e-4, 0},
                {8, 32, 2.39e-4, 0, 0, 0, 0},
                {8, 64, 2.40e-4, 0, 0, 0, 0}};
  for (const auto& row : golden) {
    const auto check = [&](double nu, bool own_exact, double total) {
      if (total == 0) return;  // not in the table
      const auto claim = best_differential(row.workers, row.terms, nu, own_exact).design.claim;
      EXPECT_NEAR(claim.total / total, 1, 0.01)
          << row.workers << ", " << row.terms << ", " << nu << ", " << own_exact;
    };
    check(kNuF32, false, row.f32);
    check(kNuF16, false, row.f16);
    check(kNuBf16, false, row.bf16);
    check(kNuF32, true, row.own_f32);
    check(kNuBf16, true, row.own_bf16);
  }
}

TEST(Differential, BestEpsilonIsNearTheGoldenOne) {
  // The minimum is flat: 10 % in epsilon is 0.5 % in the error.
  EXPECT_NEAR(best_differential(8, 8, kNuF32, false).design.tables.epsilon / 6.3e-4, 1, 0.1);
  EXPECT_NEAR(best_differential(8, 8, kNuF16, false).design.tables.epsilon / 4.5e-2, 1, 0.1);
  EXPECT_NEAR(best_differential(8, 8, kNuBf16, false).design.tables.epsilon / 0.13, 1, 0.1);
}

TEST(Differential, AThirdContributionIsWorthLessThanOnePercentOnEveryWire) {
  for (const auto wire : {runtime::Wire::f32, runtime::Wire::f16, runtime::Wire::bf16, runtime::Wire::fx16,
                          runtime::Wire::fx12, runtime::Wire::fx8})
    for (const int workers : {4, 8, 16})
      for (const int terms : {2, 4, 64}) {
        const double nu = nu_of(wire, 128);
        const auto two = best_differential(workers, terms, nu, true).design;
        // At the epsilon of two, which three could only better by what is flat around a minimum.
        const double three = differential_design(workers, terms, two.tables.epsilon, nu, true, 3).claim.total;
        EXPECT_LT(two.claim.total, 1.01 * three)
            << static_cast<int>(wire) << ", " << workers << ", " << terms;
        EXPECT_GT(two.claim.total, 0.9999 * three);
        for (int p = 0; p < workers; ++p) {
          EXPECT_EQ(two.tables.open[3 * p + 2], 0);
          EXPECT_EQ(two.tables.extend[3 * p + 2], 0);
        }
        EXPECT_EQ(two.tables.own[1], 0);
      }
}

// T_m(t)[k] of tuner/DESIGN.md, section 6, all components.
double table(int workers, double epsilon, int m, int t, int k) {
  if (k < m) return 0;
  const double z = static_cast<double>(t) / workers - m - (1 + 1.0 / workers) / 2;
  double value = std::pow(epsilon, k - m);
  for (int i = 0; i < k - m; ++i) value *= (z - i) / (i + 1);
  return value;
}

TEST(Differential, BandIsTheCodeOfTheDesignUpToItsTruncation) {
  const int workers = 5, terms = 9;
  const float epsilon = 0.02f;
  const runtime::Shape shape = runtime::make_shape(workers, workers * terms);
  const runtime::DifferentialTables tables = differential_tables(shape, epsilon, kNuF32, false);
  const DifferentialBand band(shape, tables);
  for (int p = 0; p < workers; ++p)
    for (int delta = 0; delta < workers; ++delta)
      for (int k = 0; k < terms; ++k) {
        const auto column = band.column(p, delta, k);
        for (int i = 0; i < 4; ++i) {
          const double expected =
              k + i < terms ? table(workers, epsilon, k, (k + 1) * workers + p - delta, k + i) : 0;
          EXPECT_NEAR(column[i], expected, i < 3 ? 1e-6 : std::pow(epsilon, 3)) << p << delta << k << i;
        }
      }
}

TEST(Differential, NoiseRootIsTheRootOfTheCovarianceOfTheDesign) {
  const int workers = 4, terms = 7, taps = 3;
  const float epsilon = 0.05f;
  const runtime::Shape shape = runtime::make_shape(workers, workers * terms);
  const runtime::DifferentialTables tables = differential_tables(shape, epsilon, kNuF32, false);
  const DifferentialBand band(shape, tables);
  const auto variance = [&](int hop) {
    const int m = std::max(0, hop / workers - 1);
    double square = 0;
    for (int k = m; k < terms; ++k) square += std::pow(table(workers, epsilon, m, hop, k), 2);
    return std::min(hop, workers) * square;
  };
  // Factor with which hop h stands in sample k of phase p.
  const auto factor = [&](int hop, int k, int p) -> double {
    if (hop >= (k + 1) * workers + p) return 0;
    if (k == 0) return 1;
    if (hop < k * workers) return 0;
    return hop < (k + 1) * workers ? 1.0 / epsilon : 1;
  };
  for (int p = 0; p < workers; ++p)
    for (int k = 0; k + taps <= terms; ++k) {
      const Eigen::MatrixXd root = band.noise_root(p, k, taps);
      const Eigen::MatrixXd covariance = root.transpose() * root;
      for (int a = 0; a < taps; ++a)
        for (int b = 0; b < taps; ++b) {
          double expected = 0;
          for (int hop = 1; hop < (terms + 1) * workers; ++hop)
            expected += variance(hop) * factor(hop, k + a, p) * factor(hop, k + b, p);
          EXPECT_NEAR(covariance(a, b), expected, 1e-5 * (expected + 1)) << p << k << a << b;
        }
    }
}

TEST(Differential, GroupsStandForEveryComponent) {
  for (int terms = 2; terms <= 20; ++terms) {
    int count = 0;
    for (const ComponentGroup& group : component_groups(terms)) count += group.count;
    EXPECT_EQ(count, terms);
  }
}

TEST(Differential, EachFurtherComponentAddsTheSameError) {
  // From 8 components on, where the group in the middle starts to grow.
  const auto error_square = [](int terms) {
    return std::pow(differential_design(8, terms, 0.05f, kNuF32, true).claim.approximation, 2) * terms;
  };
  const double step = error_square(7) - error_square(6);  // no group yet
  for (int terms = 8; terms <= 14; ++terms)
    EXPECT_NEAR((error_square(terms) - error_square(terms - 1)) / step, 1, 1e-3) << terms;
}

TEST(Differential, OwnCorrectionMakesTheOwnVectorExactToSecondOrder) {
  const runtime::Shape shape = runtime::make_shape(8, 64);
  const runtime::DifferentialTables tables = differential_tables(shape, 0.05f, kNuF32, true);
  const DifferentialBand band(shape, tables);
  for (int p = 0; p < 8; ++p) {
    double with = 0, without = 0;
    const float* const d = &tables.decode[p * 9];
    for (int i = 0; i < 3; ++i) {
      double corrected = i == 0 ? -1 : 0, raw = corrected;
      for (int tap = 0; tap <= i; ++tap) {
        const double v = band.column(p, 0, 2 + tap)[i - tap];
        raw += d[tap] * v;
        corrected += d[tap] * (v + (i - tap >= 1 ? tables.own[p * 4 + i - tap - 1] : 0.0f));
      }
      with += corrected * corrected;
      without += raw * raw;
    }
    EXPECT_LT(std::sqrt(with), 0.05 * 0.05) << p;
    EXPECT_GE(std::sqrt(without) * 1.0001, std::sqrt(with)) << p;
  }
}

TEST(Differential, TheClaimComesFromTheTablesAloneBitForBit) {
  for (bool own_exact : {false, true})
    for (int terms : {2, 3, 5, 40}) {
      const DifferentialDesign design = differential_design(8, terms, 6e-4f, kNuF32, own_exact);
      const runtime::ErrorClaim again = claim_of(runtime::make_shape(8, 8 * terms), design.tables, kNuF32);
      EXPECT_EQ(again.total, design.claim.total);
      EXPECT_EQ(again.condition, design.claim.condition);
      EXPECT_EQ(again.approximation_worst, design.claim.approximation_worst);
      EXPECT_NEAR(again.condition, 1.0015, 1e-3);
      for (float value : design.tables.own) EXPECT_EQ(value != 0 && !own_exact, false);
    }
}

TEST(Differential, AWrongTableShowsInTheClaim) {
  const runtime::Shape shape = runtime::make_shape(8, 64);
  const DifferentialDesign design = differential_design(8, 8, 6e-4f, kNuF32, true);
  for (std::vector<float> runtime::DifferentialTables::* table :
       {&runtime::DifferentialTables::open, &runtime::DifferentialTables::extend,
        &runtime::DifferentialTables::own, &runtime::DifferentialTables::decode}) {
    runtime::DifferentialTables altered = design.tables;
    for (float& value : altered.*table) value *= 1.01f;
    altered.epsilon = design.tables.epsilon;
    EXPECT_NE(claim_of(shape, altered, kNuF32).total, design.claim.total);
  }
}

TEST(Differential, RefusesWhatIsNotACode) {
  EXPECT_THROW(differential_design(1, 4, 1e-3f, 0, false), Error);
  EXPECT_THROW(differential_design(4, 1, 1e-3f, 0, false), Error);
  EXPECT_THROW(differential_design(4, 4, 0.0f, 0, false), Error);
  EXPECT_THROW(differential_design(4, 4, 2.0f, 0, false), Error);
  EXPECT_THROW(differential_design(4, 4, 1e-3f, -1, false), Error);
  EXPECT_THROW(differential_design(4, 4, 1e-3f, 0, false, 1), Error);
  EXPECT_THROW(differential_design(4, 4, 1e-3f, 0, false, 4), Error);
  EXPECT_THROW(best_differential(4, 4, 0, false), Error);
  DifferentialDesign design = differential_design(4, 4, 1e-3f, 0, false);
  EXPECT_THROW(claim_of(runtime::make_shape(8, 32), design.tables, 0), Error);
  EXPECT_THROW(claim_of(runtime::make_shape(4, 6), design.tables, 0), Error);
  design.tables.epsilon = 0;
  EXPECT_THROW(claim_of(runtime::make_shape(4, 16), design.tables, 0), Error);
}

}  // namespace
}  // namespace cerar::tuner
