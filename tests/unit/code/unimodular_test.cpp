#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/error.h"
#include "tuner/code/constructions/exact.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {
namespace {

TEST(UnimodularCode, HoldsZerosAndOnesOfEitherSignThatNeverChange) {
  for (int workers = 1; workers <= 16; ++workers)
    for (int c = 1; c <= workers; ++c) {
      const PlainCode code = unimodular_code(workers, c);
      for (int chain = 0; chain < code.shape.chains; ++chain)
        for (int visit = 1; visit <= code.shape.visits; ++visit)
          for (int k = 0; k < code.shape.terms; ++k) {
            const double b = code.at(chain, visit, k);
            EXPECT_TRUE(b == 0 || b == (k % 2 == 0 ? 1 : -1));
            EXPECT_EQ(b, code.at(chain, 1, k));
            if (workers % c == 0) {
              EXPECT_EQ(b, 1);
            }
          }
    }
}

TEST(UnimodularCode, SamplesOfEveryPhaseHaveAnInverseOfWholeNumbers) {
  for (int workers = 2; workers <= 20; ++workers)
    for (int c = 1; c < workers; ++c) {
      if (workers % c == 0) continue;
      const PlainDesign design = unimodular_design(workers, c, runtime::Wire::f32, 128);
      const PlainCode code{.shape = runtime::make_shape(workers, c), .beta = design.tables.beta};
      const Decoder decoder = effective_decoder(code.shape, design.tables.decode);
      for (int p = 0; p < workers; ++p)
        for (int delta : {0, workers / 2, workers - 1}) {
          // Whole numbers on both sides: the product is exact.
          const Eigen::MatrixXd product = mixing_matrix(code, p, delta) * decoder.phase[p];
          EXPECT_EQ(product, Eigen::MatrixXd::Identity(code.shape.terms, code.shape.terms))
              << "N = " << workers << " c = " << c << " p = " << p;
        }
      EXPECT_EQ(design.claim.approximation, 0);
      EXPECT_GT(design.claim.total, 0);
      EXPECT_LT(design.claim.total, 5e-7) << "N = " << workers << " c = " << c;
    }
}

TEST(UnimodularCode, RefusesMoreComponentsThanWorkers) {
  for (const auto& [workers, components] : {std::pair{4, 5}, {4, 0}, {0, 1}}) {
    try {
      unimodular_code(workers, components);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace cerar::tuner
