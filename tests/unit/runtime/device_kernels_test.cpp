// Which of a plan's kernels a device gets.
#include "runtime/gpu/executor/device_kernels.h"

#include <gtest/gtest.h>

namespace cerar::runtime {
namespace {

using Targets = std::vector<std::string>;

TEST(BestTarget, CubinsRunOnTheirMajorVersionFromTheirMinorOneOn) {
  EXPECT_EQ(best_target({"sm_80"}, "sm_80"), "sm_80");
  EXPECT_EQ(best_target({"sm_80"}, "sm_86"), "sm_80");
  EXPECT_EQ(best_target({"sm_80"}, "sm_89"), "sm_80");
  EXPECT_EQ(best_target({"sm_80"}, "sm_90"), "");
  EXPECT_EQ(best_target({"sm_80"}, "sm_75"), "");
  EXPECT_EQ(best_target({"sm_86"}, "sm_80"), "");
  EXPECT_EQ(best_target({"sm_80", "sm_86", "sm_89"}, "sm_87"), "sm_86");
  EXPECT_EQ(best_target({"sm_90"}, "sm_100"), "");
  EXPECT_EQ(best_target({"sm_100"}, "sm_103"), "sm_100");
  EXPECT_EQ(best_target({"sm_100"}, "sm_110"), "");
  EXPECT_EQ(best_target({"sm_100"}, "sm_120"), "");
  EXPECT_EQ(best_target({"sm_120"}, "sm_121"), "sm_120");
  EXPECT_EQ(best_target({"sm_90a", "sm_100f"}, "sm_90"), "");  // of one chip, which plans do not name
}

TEST(BestTarget, PtxServesWhatNoCubinFits) {
  const Targets targets = {"sm_80", "sm_90", "compute_80"};
  for (const char* const newer : {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121", "sm_130"})
    EXPECT_EQ(best_target(targets, newer), "compute_80") << newer;
  EXPECT_EQ(best_target(targets, "sm_86"), "sm_80");
  EXPECT_EQ(best_target(targets, "sm_90"), "sm_90");
  EXPECT_EQ(best_target(targets, "sm_75"), "");
  EXPECT_EQ(best_target({"sm_90", "compute_80"}, "sm_86"), "compute_80");
  EXPECT_EQ(best_target({"compute_80", "compute_100", "compute_120"}, "sm_103"), "compute_100");
  EXPECT_EQ(best_target({"compute_90"}, "sm_80"), "");
}

}  // namespace
}  // namespace cerar::runtime
