#include "tuner/code/plain/plain_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {
namespace {

bool is_f32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

TEST(PlainCode, IsZeroBeforeTheFirstVisit) {
  const PlainCode code = harmonic_code(4, 8, 0.1);
  EXPECT_EQ(code.at(0, 0, 1), 0);
  EXPECT_EQ(code.at(0, -3, 0), 0);
  EXPECT_EQ(code.at(0, 1, 0), 1);
}

TEST(PlainCode, IncrementsBecomeExactFloats) {
  for (const auto& [workers, components, epsilon] :
       {std::tuple{8, 24, 1e-2}, {8, 64, 2e-2}, {8, 12, 1e-7}, {4, 32, 1e-3}, {8, 5, 0.1}, {3, 22, 0.12}}) {
    const PlainCode code = harmonic_code(workers, components, epsilon);
    const PlainCode rounded = with_f32_increments(code);
    for (int j = 0; j < code.shape.chains; ++j)
      for (int t = 1; t <= code.shape.visits; ++t)
        for (int k = 0; k < code.shape.terms; ++k) {
          const double increment = rounded.at(j, t, k) - rounded.at(j, t - workers, k);
          EXPECT_TRUE(is_f32(increment)) << workers << ", " << components;
          EXPECT_NEAR(rounded.at(j, t, k), code.at(j, t, k), 1e-6 * std::abs(code.at(j, t, k)) + 1e-7);
          const bool changes = code.at(j, t, k) != code.at(j, t - workers, k);
          EXPECT_TRUE(changes || increment == 0);
        }
    EXPECT_EQ(with_f32_increments(rounded).beta, rounded.beta);
  }
}

TEST(PlainTables, TheClaimComesFromTheTablesAloneBitForBit) {
  for (const auto& [workers, components] : {std::pair{8, 16}, {8, 24}, {4, 6}, {8, 3}, {6, 15}}) {
    const PlainCode code = harmonic_code(workers, components, 8e-3);
    const PlainDesign design = plain_design(code, kNuF32);
    const runtime::ErrorClaim again = claim_of(code.shape, design.tables, kNuF32);
    EXPECT_EQ(again.total, design.claim.total);
    EXPECT_EQ(again.condition, design.claim.condition);
    EXPECT_EQ(again.noise_gain, design.claim.noise_gain);
    EXPECT_EQ(again.approximation, design.claim.approximation);
    EXPECT_EQ(again.approximation_worst, design.claim.approximation_worst);
    EXPECT_EQ(again.noise, design.claim.noise);
    EXPECT_DOUBLE_EQ(again.total, std::hypot(again.approximation, again.noise));
  }
}

TEST(PlainTables, RoundingCostsNextToNothing) {
  for (const auto& [workers, components, epsilon] : {std::tuple{8, 16, 8e-4},
                                                     {8, 24, 8e-3},
                                                     {8, 32, 2.7e-2},
                                                     {8, 9, 1e-3},
                                                     {8, 12, 8e-4},
                                                     {8, 20, 8e-3}}) {
    const PlainCode code = harmonic_code(workers, components, epsilon);
    const double ideal = claim_of(code, least_squares_decoder(code, kNuF32), kNuF32).total;
    const double rounded = plain_design(code, kNuF32).claim.total;
    EXPECT_NEAR(rounded / ideal, 1, 0.02) << components;
  }
}

TEST(PlainTables, DecodesDifferencesOfNeighboursWhereThereIsOneChain) {
  const PlainCode code = with_f32_increments(harmonic_code(4, 12, 0.05));
  const Decoder decoder = least_squares_decoder(code, kNuF32);
  const runtime::PlainTables tables = plain_design(code, kNuF32).tables;
  const int terms = 3;
  const double x[terms] = {0.3, -1.2, 2.5};
  const double z[terms] = {x[0], x[1] - x[0], x[2] - x[1]};
  for (int p = 0; p < 4; ++p)
    for (int k = 0; k < terms; ++k) {
      double from_samples = 0, from_differences = 0;
      for (int s = 0; s < terms; ++s) {
        from_samples += decoder.phase[p](s, k) * x[s];
        from_differences += tables.decode[(p * terms + s) * terms + k] * z[s];
      }
      EXPECT_NEAR(from_differences, from_samples, 1e-5 * decoder.phase[p].norm());
    }
}

TEST(PlainTables, HoldADecoderForCallsOutOfPlaceWhereTermsAreFewAndTheCodeIsNotExact) {
  for (const auto& [workers, components, apart] : {std::tuple{4, 8, true},
                                                   {8, 32, true},
                                                   {8, 12, true},
                                                   {4, 6, true},
                                                   {8, 40, false},
                                                   {8, 20, false},
                                                   {8, 9, false},
                                                   {8, 6, false},
                                                   {8, 3, false}}) {
    const PlainDesign design = plain_design(harmonic_code(workers, components, 0.02), kNuF32);
    EXPECT_EQ(design.claim_out_of_place.has_value(), apart) << components;
    EXPECT_EQ(design.tables.decode_out_of_place.size(), apart ? design.tables.decode.size() : 0u);
    EXPECT_EQ(design.tables.own_out_of_place.size(), apart ? design.tables.decode.size() : 0u);
    EXPECT_EQ(
        out_of_place_claim_of(runtime::make_shape(workers, components), design.tables, kNuF32).has_value(),
        apart);
  }
}

// What the samples give of a rank's own vector and what it adds itself make one vector, to the rounding of a
// number of the correction.
TEST(PlainTables, OutOfPlaceARanksOwnVectorIsExact) {
  for (const auto& [workers, components, epsilon] : {std::tuple{4, 8, 6e-4},
                                                     {4, 12, 7e-3},
                                                     {8, 16, 8e-4},
                                                     {8, 24, 8e-3},
                                                     {8, 32, 2.7e-2},
                                                     {8, 12, 8e-4}}) {
    const PlainCode code = harmonic_code(workers, components, epsilon);
    const PlainDesign design = plain_design(code, kNuF32);
    const int terms = code.shape.terms;
    const Decoder decoder = effective_decoder(code.shape, design.tables.decode_out_of_place);
    double correction = 0;
    for (int p = 0; p < workers; ++p) {
      const Eigen::MatrixXd received =
          mixing_matrix({.shape = code.shape, .beta = design.tables.beta}, p, 0) * decoder.phase[p];
      for (int m = 0; m < terms; ++m)
        for (int k = 0; k < terms; ++k) {
          const double own =
              design.tables.own_out_of_place[static_cast<std::size_t>((p * terms + m) * terms + k)];
          EXPECT_NEAR(received(m, k) + own, m == k ? 1 : 0, std::ldexp(std::abs(own), -24) + 1e-10);
          correction = std::max(correction, std::abs(own));
        }
    }
    EXPECT_GT(correction, design.claim.approximation / 2) << "there is something to correct";
    EXPECT_LT(correction, 1);
  }
}

TEST(PlainTables, TheClaimOutOfPlaceIsThatOfOwnExactDecodingOfTheSameCode) {
  for (const auto& [workers, components, epsilon] :
       {std::tuple{4, 8, 6e-4}, {4, 12, 7e-3}, {8, 16, 8e-4}, {8, 24, 8e-3}, {8, 32, 2.7e-2}}) {
    const PlainCode code = harmonic_code(workers, components, epsilon);
    const double ideal = claim_of(code, least_squares_decoder(code, kNuF32, true), kNuF32, true).total;
    const PlainDesign design = plain_design(code, kNuF32);
    EXPECT_NEAR(design.claim_out_of_place->total / ideal, 1, 0.02) << components;
    EXPECT_LT(design.claim_out_of_place->total, 0.95 * design.claim.total);
    EXPECT_EQ(out_of_place_claim_of(code.shape, design.tables, kNuF32)->total,
              design.claim_out_of_place->total);
    // Without its correction it is worse than the decoder for calls in place.
    runtime::PlainTables wrong = design.tables;
    std::fill(wrong.own_out_of_place.begin(), wrong.own_out_of_place.end(), 0.0f);
    EXPECT_GT(out_of_place_claim_of(code.shape, wrong, kNuF32)->total, design.claim.total);
    EXPECT_EQ(claim_of(code.shape, wrong, kNuF32).total, design.claim.total);
  }
}

TEST(PlainTables, AWrongDecoderShowsInTheClaim) {
  const PlainCode code = harmonic_code(8, 24, 1e-2);
  PlainDesign design = plain_design(code, kNuF32);
  design.tables.decode[0] *= 1.5f;  // phase 0, weight of the first sample in component 0
  EXPECT_GT(claim_of(code.shape, design.tables, kNuF32).total, 2 * design.claim.total);
}

TEST(PlainTables, RefusesTablesOfTheWrongSize) {
  const PlainCode code = harmonic_code(8, 24, 1e-2);
  const PlainDesign design = plain_design(code, kNuF32);
  runtime::PlainTables short_beta = design.tables, short_decode = design.tables;
  short_beta.beta.pop_back();
  short_decode.decode.pop_back();
  for (const runtime::PlainTables& tables : {short_beta, short_decode}) {
    try {
      claim_of(code.shape, tables, kNuF32);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    }
  }
  runtime::PlainTables short_out_of_place = design.tables, short_own = design.tables;
  short_out_of_place.decode_out_of_place.pop_back();
  short_own.own_out_of_place.pop_back();
  EXPECT_THROW(out_of_place_claim_of(code.shape, short_out_of_place, kNuF32), Error);
  EXPECT_THROW(out_of_place_claim_of(code.shape, short_own, kNuF32), Error);
}

}  // namespace
}  // namespace cerar::tuner
