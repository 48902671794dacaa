// Progress is said within each design, not only between them: designs for many workers take seconds.
#include <gtest/gtest.h>

#include <set>

#include "tuner/search/candidates.h"

namespace cerar::test {
namespace {

using runtime::Construction;

void expect_progress_within(Construction construction, int components) {
  tuner::SearchOptions options;
  options.workers = 8;
  options.construction = construction;
  options.components = components;
  options.max_error = 1;
  std::set<std::string> lines;
  options.progress = [&](const std::string& line) { lines.insert(line); };
  tuner::design_candidates(tuner::load_topology("local"), options);
  EXPECT_GE(lines.size(), 10u) << *lines.begin();
  EXPECT_TRUE(lines.rbegin()->find(": code ") != std::string::npos) << *lines.rbegin();
}

TEST(Progress, WithinHarmonicDesigns) { expect_progress_within(Construction::harmonic, 16); }
TEST(Progress, WithinOptimizedDesigns) { expect_progress_within(Construction::optimized, 24); }
TEST(Progress, WithinDifferentialDesigns) { expect_progress_within(Construction::differential, 32); }

}  // namespace
}  // namespace cerar::test
