#include "tuner/search/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "tuner/cost/cost_model.h"
#include "tuner/topology/topology.h"

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

// Codes that mix components are no exact ones: without an error budget they are not chosen, and with one they
// must gain what any approximate code must.
TEST(Choice, CodesThatMixComponentsNeedABudgetAndAGain) {
  for (const char* name : {"a100-pcie", "a100-nvlink", "ethernet-10g", "ethernet-1g", "local"})
    for (const int workers : {3, 5, 6, 8, 12}) {
      const Result exact = search(name, {.workers = workers, .max_error = 0});
      for (const auto& choice : exact.selection.choices) {
        const Candidate& candidate = exact.candidates[choice.candidate];
        EXPECT_TRUE(candidate.is_exact());
        EXPECT_EQ(workers % candidate.shape.components, 0);
      }
      for (const Candidate& candidate : exact.candidates)
        if (candidate.construction == Construction::unimodular) {
          EXPECT_FALSE(candidate.is_exact());
          EXPECT_FALSE(candidate.allowed);
          EXPECT_GT(candidate.counted_error(), 0);
        }
      const Result budget = search(name, {.workers = workers, .construction = Construction::unimodular});
      const CostLine baseline = baseline_cost(load_topology(name), workers);
      for (const auto& choice : budget.selection.choices) {
        const Candidate& candidate = budget.candidates[choice.candidate];
        if (candidate.is_exact()) continue;
        const auto bytes = static_cast<double>(choice.max_bytes);
        EXPECT_LE(candidate.cost.at(bytes), 0.951 * baseline.at(bytes)) << name;
        for (const Candidate& other : budget.candidates) {
          if (!other.is_exact()) continue;
          EXPECT_LE(candidate.cost.at(bytes), 0.96 * other.cost.at(bytes)) << name;
        }
      }
    }
}

TEST(Choice, TwoWorkersGainNothingAndSayWhy) {
  const Result result = search("a100-pcie", {.workers = 2});
  EXPECT_TRUE(result.large().is_exact());
  EXPECT_NE(result.selection.reason.find("two workers"), std::string::npos);
  EXPECT_NO_THROW(
      build_plan(result.candidates, result.selection, load_topology("a100-pcie"), {.workers = 2}));
}

TEST(Choice, OfEquallyFastCodesTakesTheMoreExact) {
  const Topology topology = load_topology("a100-pcie");
  const SearchOptions options{.workers = 8, .max_error = 0.1, .components = 20};
  const auto list = design_candidates(topology, options);
  ASSERT_EQ(list.size(), 2u);
  const Candidate& chosen = list[choose(list, topology, options).choices.back().candidate];
  EXPECT_EQ(chosen.construction, Construction::optimized);
  EXPECT_LT(chosen.claim.total, list[0].claim.total);
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

std::vector<Candidate> designs(int workers, std::optional<int> components,
                               std::optional<Construction> construction = {}) {
  SearchOptions options{.workers = workers, .construction = construction, .components = components};
  return design_candidates(load_topology("a100-pcie"), options);
}

std::string refusal(int workers, int components, Construction construction) {
  try {
    designs(workers, components, construction);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Candidates, EveryComponentCountHasACode) {
  for (int workers : {3, 8})
    for (int components = 1; components <= 4 * workers; ++components) {
      const auto list = designs(workers, components);
      ASSERT_FALSE(list.empty()) << workers << ", " << components;
      for (const Candidate& candidate : list) EXPECT_EQ(candidate.shape.components, components);
    }
}

TEST(Candidates, PlainCodesBetweenMultiplesAreWithinTheirClaims) {
  for (const auto& [components, construction] : {std::pair{7, Construction::harmonic},
                                                 {12, Construction::optimized},
                                                 {20, Construction::optimized},
                                                 {9, Construction::harmonic},
                                                 {12, Construction::vandermonde}}) {
    const SearchOptions options{
        .workers = 8, .max_error = 0.1, .construction = construction, .components = components};
    const Topology topology = load_topology("a100-pcie");
    const auto list = design_candidates(topology, options);
    ASSERT_EQ(list.size(), 1u) << components;
    EXPECT_EQ(list[0].construction, construction);
    EXPECT_EQ(list[0].messages, Messages::plain);
    EXPECT_TRUE(list[0].allowed);
    if (components < 8) {
      EXPECT_LT(list[0].claim.total, 2e-7);
    }
    const bool good = components < 20 && construction != Construction::vandermonde;
    EXPECT_EQ(designs(8, components, construction)[0].allowed, good) << "within the default of 1e-3";
    const runtime::Plan plan = build_plan(list, choose(list, topology, options), topology, options);
    EXPECT_EQ(plan.variants[0].shape.components, components);
    EXPECT_LE(plan.variants[0].claim.total, 0.1);
  }
}

TEST(Candidates, DefaultSearchHoldsTheCodesBetween) {
  const auto count = [](const std::vector<Candidate>& list, Construction construction, int components) {
    return std::count_if(list.begin(), list.end(), [&](const Candidate& c) {
      return c.construction == construction && c.shape.components == components;
    });
  };
  const auto list = designs(6, {});
  for (int components : {9, 15, 12, 48}) {
    EXPECT_EQ(count(list, Construction::harmonic, components), 1) << components;
    EXPECT_EQ(count(list, Construction::optimized, components), 1) << components;
    EXPECT_EQ(count(list, Construction::vandermonde, components), 0);
  }
  for (int components = 1; components <= 6; ++components) {
    const bool divides = 6 % components == 0;
    EXPECT_EQ(count(list, Construction::ring, components), divides ? 1 : 0) << components;
    EXPECT_EQ(count(list, Construction::unimodular, components), divides ? 0 : 1) << components;
    EXPECT_EQ(count(list, Construction::harmonic, components), 0) << components;
  }
  EXPECT_GE(count(designs(6, {}, Construction::vandermonde), Construction::vandermonde, 9), 1);
}

TEST(Candidates, RefusesCodesByNameThatAreOfNoUse) {
  const std::string many_terms = refusal(8, 127, Construction::harmonic);
  EXPECT_NE(many_terms.find("r = c / gcd(c, N) = 127"), std::string::npos) << many_terms;
  EXPECT_NE(many_terms.find("multiple of 8"), std::string::npos) << many_terms;
  const std::string many_degrees = refusal(8, 136, Construction::optimized);
  EXPECT_NE(many_degrees.find("end at c = 128"), std::string::npos) << many_degrees;
  const std::string useless = refusal(8, 9, Construction::vandermonde);
  EXPECT_NE(useless.find("relative error of 0.5"), std::string::npos) << useless;
  const std::string beyond_double = refusal(16, 49, Construction::vandermonde);
  EXPECT_NE(beyond_double.find("condition number"), std::string::npos) << beyond_double;
  const std::string exact = refusal(8, 4, Construction::optimized);
  EXPECT_NE(exact.find("exact"), std::string::npos) << exact;
  EXPECT_THROW(designs(8, 513), Error);
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

TEST(Pieces, KeepTheLinkFullWhileOneLaneWaits) {
  for (const double latency_us : {1.0, 30.0, 500.0})
    for (const double bandwidth_gbs : {0.0119, 1.19, 21.0}) {
      const Pieces pieces = choose_pieces(latency_us, bandwidth_gbs);
      const double in_flight = bandwidth_gbs * 1e3 * latency_us;
      const double others = static_cast<double>(pieces.message_bytes) * (pieces.lanes - 1);
      EXPECT_TRUE(others >= in_flight || pieces.message_bytes == 4194304u)
          << latency_us << ", " << bandwidth_gbs;
      EXPECT_GE(pieces.message_bytes, 65536u);
      EXPECT_LE(pieces.message_bytes, 4194304u);
    }
  // Absent from a topology file, they are chosen; present, they are kept.
  EXPECT_EQ(load_topology("ethernet-1g").lanes, choose_pieces(30, 0.119).lanes);
  EXPECT_EQ(load_topology("a100-nvlink").lanes, 1);
  // NCCL runs groups one after the other: a second lane hides kernels, a third nothing.
  EXPECT_EQ(load_topology("a100-pcie").lanes, 2);
  EXPECT_EQ(load_topology("a100-pcie").message_bytes, 4194304u);
  // A message's fixed cost counts where it would be much of its time on the link.
  EXPECT_EQ(choose_pieces(30, 0.0239).message_bytes, 65536u);   // 200 Mbit/s
  EXPECT_EQ(choose_pieces(30, 0.1195).message_bytes, 131072u);  // 1 Gbit/s
}

TEST(Traffic, CountsWhatTheKernelsTouch) {
  // The ring: begin 2, relay 3, settle and keep 4 accesses (3 where nothing is sent), each on d/N elements.
  const double n = 8;
  EXPECT_NEAR(accesses_per_element(runtime::make_shape(8, 8), Messages::sum), (2 + 6 * 3 + 4 + 6 * 3 + 2) / n,
              1e-12);
  // Five at each of r visits, and 2 r more to decode.
  const double differential = accesses_per_element(runtime::make_shape(8, 64), Messages::differential);
  EXPECT_GT(differential, 6.5);
  EXPECT_LT(differential, 7.5);
  const double plain = accesses_per_element(runtime::make_shape(8, 24), Messages::plain);
  EXPECT_GT(plain, 6);
  EXPECT_LT(plain, 9.5);
}

}  // namespace
}  // namespace cerar::tuner
