// Golden numbers were computed in double precision by an independent prototype of the design.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/error.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/constructions/exact.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {
namespace {

runtime::ErrorClaim noiseless(const PlainCode& code) {
  return claim_of(code, least_squares_decoder(code, 0), 0);
}

TEST(Harmonic, IsExactUpToAsManyComponentsAsWorkers) {
  const struct {
    int components, classes, terms;
    double condition;
  } golden[] = {{1, 1, 1, 1},    {2, 2, 1, 1}, {4, 4, 1, 1},    {8, 8, 1, 1},
                {3, 1, 3, 1.46}, {5, 1, 5, 2}, {6, 2, 3, 2.00}, {7, 1, 7, 2.83}};
  for (const auto& row : golden)
    for (double epsilon : {0.5, 1e-3}) {
      const PlainCode code = harmonic_code(8, row.components, epsilon);
      const runtime::ErrorClaim claim = noiseless(code);
      EXPECT_EQ(code.shape.classes, row.classes);
      EXPECT_EQ(code.shape.terms, row.terms);
      EXPECT_LT(claim.approximation, 1e-14) << row.components;
      EXPECT_LT(claim.approximation_worst, 1e-14) << row.components;
      EXPECT_NEAR(claim.condition, row.condition, 0.005) << row.components;
    }
}

TEST(Harmonic, MatchesTheGoldenErrorsAndConditions) {
  const struct {
    int workers, components;
    double epsilon, error, condition;
  } golden[] = {{8, 9, 0.01, 1.02e-3, 530},    {8, 12, 0.01, 1.47e-3, 318}, {4, 6, 0.01, 1.61e-3, 283},
                {8, 16, 0.1, 1.47e-2, 27.6},   {8, 16, 0.01, 1.47e-3, 275}, {8, 24, 0.1, 2.79e-2, 503},
                {8, 24, 0.01, 2.79e-3, 4.97e4}};
  for (const auto& row : golden) {
    const runtime::ErrorClaim claim = noiseless(harmonic_code(row.workers, row.components, row.epsilon));
    EXPECT_NEAR(claim.approximation / row.error, 1, 0.03) << row.workers << ", " << row.components;
    EXPECT_NEAR(claim.condition / row.condition, 1, 0.03) << row.workers << ", " << row.components;
    EXPECT_GE(claim.approximation_worst, claim.approximation);
    EXPECT_EQ(claim.noise, 0);
    EXPECT_GT(claim.noise_gain, 0);
  }
}

struct Slopes {
  double error, condition;
};

/// Least squares in log-log over five drifts, from `first` down to a quarter of it.
Slopes slopes_of(PlainCode (*construction)(int, int, double), int workers, int components, double first) {
  constexpr int kCount = 5;
  Eigen::MatrixXd system(kCount, 2), logs(kCount, 2);
  for (int i = 0; i < kCount; ++i) {
    const double drift = first * std::pow(2.0, -0.5 * i);
    const runtime::ErrorClaim claim = noiseless(construction(workers, components, drift));
    system.row(i) << std::log(drift), 1;
    logs.row(i) << std::log(claim.approximation), std::log(claim.condition);
  }
  const Eigen::MatrixXd lines = system.householderQr().solve(logs);
  return {lines(0, 0), lines(0, 1)};
}

TEST(Harmonic, ErrorAndConditionHaveTheSlopesOfTheDesign) {
  for (const auto& [workers, components] :
       {std::pair{8, 9}, {8, 12}, {8, 16}, {8, 24}, {6, 15}, {8, 20}, {8, 32}}) {
    const int power = (components + workers - 1) / workers - 1;
    const Slopes slopes = slopes_of(harmonic_code, workers, components, 2e-2);
    EXPECT_NEAR(slopes.error, 1, 0.02) << workers << ", " << components;
    EXPECT_NEAR(slopes.condition, -power, 0.02 * power) << workers << ", " << components;
  }
}

TEST(Vandermonde, ErrorAndConditionHaveTheSlopesOfTheDesign) {
  const struct {
    int workers, components;
    double spread;
  } cases[] = {{8, 3, 1e-2}, {5, 4, 1e-2}, {8, 5, 4e-2}, {4, 7, 0.12}, {8, 12, 1e-2}, {4, 12, 1e-2}};
  for (const auto& c : cases) {
    const int power = runtime::make_shape(c.workers, c.components).terms - 1;
    const Slopes slopes = slopes_of(vandermonde_code, c.workers, c.components, c.spread);
    EXPECT_NEAR(slopes.error, 1, 0.03) << c.workers << ", " << c.components;
    EXPECT_NEAR(slopes.condition, -power, 0.03 * power) << c.workers << ", " << c.components;
  }
}

TEST(Vandermonde, IsTheExactSumWithOneTerm) {
  for (int components : {1, 2, 8}) {
    const runtime::ErrorClaim claim = noiseless(vandermonde_code(8, components, 0.5));
    EXPECT_LT(claim.approximation, 1e-14);
    EXPECT_NEAR(claim.condition, 1, 1e-14);
  }
  EXPECT_GT(noiseless(vandermonde_code(8, 3, 1e-2)).approximation, 1e-3);
}

// The error that equal gradients leave: only the sum of E over delta counts.
double common_mode_error(const PlainCode& code) {
  const Decoder decoder = least_squares_decoder(code, 0);
  double sum = 0;
  const int workers = code.shape.workers, terms = code.shape.terms;
  for (int p = 0; p < workers; ++p) {
    Eigen::MatrixXd e = -workers * Eigen::MatrixXd::Identity(terms, terms);
    for (int delta = 0; delta < workers; ++delta) e += mixing_matrix(code, p, delta) * decoder.phase[p];
    sum += e.squaredNorm() / (static_cast<double>(workers) * workers * terms);
  }
  return std::sqrt(sum / workers);
}

TEST(Harmonic, EqualGradientsHaveAnErrorOfSecondOrder) {
  for (int components : {16, 24}) {
    const double wide = common_mode_error(harmonic_code(8, components, 4e-2));
    const double close = common_mode_error(harmonic_code(8, components, 2e-2));
    EXPECT_NEAR(std::log2(wide / close), 2, 0.1) << components;
  }
}

TEST(Harmonic, TopFunctionsAreBestConditionedOnEveryRunOfChains) {
  EXPECT_EQ(top_functions(8, 1), std::vector<int>{0});
  EXPECT_EQ(top_functions(7, 1), std::vector<int>{0});
  EXPECT_EQ(top_functions(4, 4), (std::vector<int>{0, 1, 2, 3}));
  for (const auto& [chains, count] : {std::pair{8, 3}, {9, 4}, {30, 6}, {64, 21}, {128, 63}, {128, 101}}) {
    const std::vector<int> functions = top_functions(chains, count);
    ASSERT_EQ(static_cast<int>(functions.size()), count);
    double first_condition = 0;
    for (int first : {0, 1, chains / 2, chains - 1}) {
      Eigen::MatrixXd values(count, count);
      for (int a = 0; a < count; ++a)
        for (int j = 0; j < count; ++j)
          values(a, j) = fourier_basis(chains, functions[a], (first + j) % chains);
      const double condition = condition_number(values);
      if (first == 0) first_condition = condition;
      EXPECT_NEAR(condition / first_condition, 1, 1e-6) << chains << ", " << count;
    }
    EXPECT_LT(first_condition, 40) << chains << ", " << count;
  }
}

TEST(Harmonic, RefusesWhatIsNotACode) {
  EXPECT_THROW(harmonic_code(0, 8, 0.1), Error);
  EXPECT_THROW(harmonic_code(8, 0, 0.1), Error);
  EXPECT_THROW(harmonic_code(8, 16, 0), Error);
  EXPECT_THROW(harmonic_code(8, 16, std::nan("")), Error);
  EXPECT_THROW(top_functions(8, 9), Error);
  EXPECT_THROW(least_squares_decoder(unimodular_code(4, 4), -1), Error);
  EXPECT_THROW(least_squares_decoder(unimodular_code(1, 1), 0, true), Error);
  for (double spread : {0.0, -0.1, 1.0, std::nan("")}) EXPECT_THROW(vandermonde_code(8, 3, spread), Error);
}

TEST(Ring, IsExactAndItsNoiseIsThatOfPartialSums) {
  const PlainCode code = unimodular_code(8, 8);
  const runtime::ErrorClaim claim = claim_of(code, least_squares_decoder(code, 0), 1e-3);
  EXPECT_LT(claim.approximation, 1e-15);
  // Phase p decodes at hop N+p (N for p = 0): hops 1..N-1 add their number of workers, N..N+p-1 add N each.
  double variance = 0;
  for (int p = 0; p < 8; ++p) variance += (28 + 8 * p) / 8.0;
  EXPECT_NEAR(claim.noise, 1e-3 * std::sqrt(variance / 8), 1e-12);
  EXPECT_NEAR(claim.condition, 1, 1e-12);
}

TEST(NoiseRoot, IsTheRootOfTheCovarianceOfTheDesign) {
  const PlainCode code = harmonic_code(6, 15, 0.3);  // two chains per class, five samples
  const runtime::Shape& shape = code.shape;
  for (int p = 0; p < shape.workers; ++p) {
    std::vector<int> times;
    for (int t = shape.workers; t < shape.workers + shape.components; ++t)
      if ((t - p) % shape.classes == 0) times.push_back(t);
    ASSERT_EQ(static_cast<int>(times.size()), shape.terms);
    const Eigen::MatrixXd root = noise_root(code, p);
    const Eigen::MatrixXd covariance = root.transpose() * root;
    for (int s = 0; s < shape.terms; ++s)
      for (int u = 0; u < shape.terms; ++u) {
        const int chain = runtime::chain_at(shape, p, times[s]);
        double expected = 0;
        if (chain == runtime::chain_at(shape, p, times[u]))
          for (int h = 1; h < std::min(times[s], times[u]); ++h)
            for (int k = 0; k < shape.terms; ++k)
              expected += std::min(h, shape.workers) * std::pow(code.at(chain, h, k), 2);
        EXPECT_NEAR(covariance(s, u), expected, 1e-10 * (1 + expected));
      }
  }
}

}  // namespace
}  // namespace cerar::tuner
