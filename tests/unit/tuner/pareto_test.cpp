#include "tuner/search/pareto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

#include "runtime/base/error.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Construction kAll[] = {Construction::ring,      Construction::unimodular,
                                 Construction::harmonic,  Construction::vandermonde,
                                 Construction::optimized, Construction::differential};

bool dominates(const Objectives& a, const Objectives& b) {
  return a.error <= b.error && a.time_us <= b.time_us && (a.error < b.error || a.time_us < b.time_us);
}

TEST(NonDominated, IsWhatComparingAllPairsFinds) {
  std::mt19937 engine(5);
  std::uniform_int_distribution<> coordinate(0, 6);  // few values: many ties
  for (int round = 0; round < 200; ++round) {
    std::vector<Objectives> all(static_cast<std::size_t>(round % 25));
    for (auto& point : all)
      point = {static_cast<double>(coordinate(engine)), static_cast<double>(coordinate(engine))};
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (std::none_of(all.begin(), all.end(), [&](const auto& other) { return dominates(other, all[i]); }))
        expected.push_back(i);
    EXPECT_EQ(non_dominated(all), expected) << round;
  }
}

struct Setting {
  const char* topology;
  int workers;
  double max_error;
};

class FrontOf : public testing::TestWithParam<Setting> {
 protected:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

  Topology topology = load_topology(GetParam().topology);
  SearchOptions options{.workers = GetParam().workers, .max_error = GetParam().max_error};
  Front front = pareto_front(topology, options, kBytes);

  /// What a search for this construction under this limit may choose from.
  std::vector<Candidate> candidates(Construction construction, double limit) const {
    SearchOptions one = options;
    one.construction = construction;
    one.max_condition = limit;
    std::vector<Candidate> list;
    try {
      list = design_candidates(topology, one);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    }
    std::erase_if(list, [&](const Candidate& candidate) {
      return !candidate.allowed || candidate.is_exact() != (construction == Construction::ring);
    });
    return list;
  }

  std::vector<FrontPoint> group(Construction construction, double limit) const {
    std::vector<FrontPoint> points;
    for (const FrontPoint& point : front.points)
      if (point.candidate.construction == construction && point.condition_limit == limit)
        points.push_back(point);
    return points;
  }
};

TEST_P(FrontOf, HoldsEveryCandidateOrOneThatIsAsGood) {
  std::size_t designed = 0;
  for (const Construction construction : kAll)
    for (const double limit : {10.0, 100.0, 1e3, 1e4, 1e6, kInfinity}) {
      if (limit < kInfinity && !heeds_condition_limit(construction)) continue;
      auto points = group(construction, limit);
      for (const FrontPoint& point : points) {
        EXPECT_LE(point.candidate.claim.condition, limit * (1 + 1e-6));
        EXPECT_LE(point.candidate.claim.total, options.max_error);
        EXPECT_DOUBLE_EQ(point.time_us, point.candidate.cost.at(static_cast<double>(kBytes)));
      }
      const auto exact = group(Construction::ring, kInfinity);
      points.insert(points.end(), exact.begin(), exact.end());
      // A code within a tighter limit may come from the search under a wider one: as good, not the same bits.
      for (const Candidate& candidate : candidates(construction, limit)) {
        ++designed;
        EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                                [&](const FrontPoint& point) {
                                  return point.candidate.claim.total <= candidate.claim.total * (1 + 1e-3) &&
                                         point.time_us <=
                                             candidate.cost.at(static_cast<double>(kBytes)) * (1 + 1e-12);
                                }))
            << static_cast<int>(construction) << " c = " << candidate.shape.components << " limit " << limit;
      }
    }
  EXPECT_GE(designed, front.points.size());
}

TEST_P(FrontOf, HasNoPointThatAnotherDominates) {
  for (const FrontPoint& point : front.points) {
    bool bettered = false;
    for (const FrontPoint& other : front.points) {
      if (!dominates(other.objectives(), point.objectives())) continue;
      bettered = true;
      EXPECT_FALSE(other.candidate.is_exact() ||
                   (other.candidate.construction == point.candidate.construction &&
                    other.condition_limit == point.condition_limit))
          << point.candidate.shape.components << " and " << other.candidate.shape.components;
    }
    EXPECT_EQ(point.on_common_front, !bettered) << point.candidate.shape.components;
  }
}

TEST_P(FrontOf, IsOrderedAndTheSameTwice) {
  const Front again = pareto_front(topology, options, kBytes);
  ASSERT_EQ(again.points.size(), front.points.size());
  for (std::size_t i = 0; i < front.points.size(); ++i) {
    EXPECT_EQ(again.points[i].candidate.claim.total, front.points[i].candidate.claim.total);
    if (i == 0) continue;
    const auto key = [](const FrontPoint& p) {
      return std::tuple(p.candidate.construction, p.condition_limit, p.candidate.shape.components);
    };
    EXPECT_LT(key(front.points[i - 1]), key(front.points[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, FrontOf,
                         testing::Values(Setting{"a100-pcie", 4, 1}, Setting{"ethernet-10g", 6, 1},
                                         Setting{"ethernet-10g", 4, 1e-2}, Setting{"a100-nvlink", 2, 1}),
                         [](const auto& info) { return "Setting" + std::to_string(info.index); });

Front front_with(SearchOptions options) {
  if (options.workers == 0) options.workers = 4;
  return pareto_front(load_topology("ethernet-10g"), options, std::uint64_t{256} << 20);
}

TEST(FrontOptions, AConstructionStandsBesideTheExactCodes) {
  const Front front = front_with({.max_error = 1, .construction = Construction::harmonic});
  const auto count = [&](Construction construction) {
    return std::count_if(front.points.begin(), front.points.end(),
                         [&](const auto& point) { return point.candidate.construction == construction; });
  };
  EXPECT_GT(count(Construction::ring), 0);
  EXPECT_GT(count(Construction::harmonic), 5);
  EXPECT_EQ(count(Construction::ring) + count(Construction::harmonic),
            static_cast<std::ptrdiff_t>(front.points.size()));
}

TEST(FrontOptions, ComponentsLeaveOnlyThem) {
  const Front front = front_with({.max_error = 1, .components = 12});
  EXPECT_GT(front.points.size(), 5u);
  for (const FrontPoint& point : front.points) EXPECT_EQ(point.candidate.shape.components, 12);
}

TEST(FrontOptions, TheUsersConditionLimitIsTheWidest) {
  const Front front =
      front_with({.max_error = 1, .max_condition = 300, .construction = Construction::harmonic});
  std::set<double> limits;
  for (const FrontPoint& point : front.points)
    if (!point.candidate.is_exact()) limits.insert(point.condition_limit);
  EXPECT_EQ(limits, (std::set<double>{10, 100, 300}));
}

void expect_refused(const SearchOptions& options, const std::string& word) {
  try {
    front_with(options);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(FrontOptions, WhatIsAskedForByNameAndIsNotThereIsAnError) {
  expect_refused({.workers = 1}, "1 worker");
  expect_refused({.max_error = 1e-9, .construction = Construction::differential}, "an error of 1e-09");
  expect_refused({.max_error = 1, .max_condition = 1.5, .construction = Construction::harmonic}, "1.5");
  expect_refused({.max_error = 1, .construction = Construction::differential, .components = 2},
                 "2 components");
}

}  // namespace
}  // namespace cerar::tuner
