#include "tuner/search/choose.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/error.h"
#include "tuner/cost/traffic.h"
#include "tuner/search/build_plan.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;
using runtime::Messages;

struct Result {
  std::vector<Candidate> candidates;
  Selection selection;

  const Candidate& large() const { return candidates[selection.choices.back().candidate]; }
  const Candidate& small() const { return candidates[selection.choices.front().candidate]; }
};

Result search(const std::string& topology_name, SearchOptions options = {}) {
  const Topology topology = load_topology(topology_name);
  if (options.workers == 0) options.workers = topology.workers;
  Result result;
  result.candidates = design_candidates(topology, options);
  result.selection = choose(result.candidates, topology, options);
  return result;
}

TEST(Choice, PcieTakesADifferentialCodeForLargeMessages) {
  const Result result = search("a100-pcie", {.construction = Construction::differential});
  const Topology topology = load_topology("a100-pcie");
  EXPECT_EQ(result.large().construction, Construction::differential);
  EXPECT_GE(result.large().shape.components, 64);
  EXPECT_LE(result.large().claim.total, 1e-3);
  EXPECT_LE(result.large().cost.us_per_mib / baseline_cost(topology, 8).us_per_mib, 0.64);
  EXPECT_EQ(result.small().shape.components, 1);
}

TEST(Choice, PcieTakesAPlainCodeWhenAskedTo) {
  const Result result = search("a100-pcie", {.max_error = 1e-2, .construction = Construction::optimized});
  EXPECT_EQ(result.large().construction, Construction::optimized);
  EXPECT_GE(result.large().shape.components, 24);
}

TEST(Choice, NvlinkKeepsTheLibrary) {
  const Result result = search("a100-nvlink", {.construction = Construction::differential});
  ASSERT_EQ(result.selection.baseline_faster.size(), 1u);
  EXPECT_EQ(result.selection.baseline_faster[0].min_bytes, 0u);
  EXPECT_EQ(result.selection.baseline_faster[0].max_bytes, runtime::ByteRange{}.max_bytes);
  EXPECT_TRUE(result.large().is_exact());
  EXPECT_NE(result.selection.reason.find("NCCL"), std::string::npos);
}

TEST(Choice, RangesJoinAndEachVariantIsTheFastestInItsMiddle) {
  for (const char* name : {"a100-pcie", "ethernet-10g", "local"}) {
    const Result result = search(name, {.construction = Construction::differential});
    std::uint64_t next = 0;
    for (const auto& choice : result.selection.choices) {
      EXPECT_EQ(choice.min_bytes, next);
      next = choice.max_bytes + 1;
      const double middle =
          choice.max_bytes == ~std::uint64_t{0}
              ? 4.0 * static_cast<double>(choice.min_bytes + 1024)
              : std::sqrt(static_cast<double>(choice.min_bytes + 64) * static_cast<double>(choice.max_bytes));
      const double mine = result.candidates[choice.candidate].cost.at(middle);
      for (const auto& other : result.candidates)
        if (other.allowed && other.is_exact()) {
          EXPECT_LE(0.94 * mine, other.cost.at(middle)) << name;
        }
    }
    EXPECT_EQ(next, 0u);
  }
}

TEST(Choice, TwoWorkersGainNothingAndSayWhy) {
  const Result result = search("a100-pcie", {.workers = 2});
  EXPECT_TRUE(result.large().is_exact());
  EXPECT_NE(result.selection.reason.find("two workers"), std::string::npos);
  EXPECT_NO_THROW(
      build_plan(result.candidates, result.selection, load_topology("a100-pcie"), {.workers = 2}));
}

TEST(Choice, AnImpossibleBudgetGivesExactCodesAndTheReason) {
  const Result result = search("ethernet-10g", {.workers = 4, .max_error = 1e-9});
  EXPECT_TRUE(result.large().is_exact());
  EXPECT_NE(result.selection.reason.find("no approximate code keeps"), std::string::npos)
      << result.selection.reason;
  EXPECT_THROW(
      search("ethernet-10g", {.workers = 4, .max_error = 1e-9, .construction = Construction::differential}),
      Error);
}

TEST(Cost, IsTheSumOfRoundsAndBytes) {
  Topology topology;
  topology.latency_us = 3;
  topology.bandwidth_gbs = 1;
  topology.memory_bandwidth_gbs = 1e6;  // kernels cost nothing
  topology.lanes = 1;
  const auto shape = runtime::make_shape(8, 64);
  const CostLine cost = cost_of(topology, shape, Messages::differential);
  EXPECT_DOUBLE_EQ(cost.fixed_us, 70 * 3.0);
  EXPECT_NEAR(cost.at(64e6), 70 * (3.0 + 1e6 / 1e3), 20);
}

TEST(Traffic, CountsWhatTheKernelsTouch) {
  // The ring: begin 2, relay 3, settle and keep 4 accesses (3 where nothing is sent), each on d/N elements.
  const double n = 8;
  EXPECT_NEAR(accesses_per_element(runtime::make_shape(8, 8), Messages::sum), (2 + 6 * 3 + 4 + 6 * 3 + 2) / n,
              1e-12);
  // design, section 2b: about 9 d.
  const double differential = accesses_per_element(runtime::make_shape(8, 64), Messages::differential);
  EXPECT_GT(differential, 7.5);
  EXPECT_LT(differential, 9.5);
  const double plain = accesses_per_element(runtime::make_shape(8, 24), Messages::plain);
  EXPECT_GT(plain, 6);
  EXPECT_LT(plain, 9.5);
}

}  // namespace
}  // namespace cerar::tuner
