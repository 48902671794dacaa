// The schedule's closed formulas against the protocol as tuner/DESIGN.md, section 1 tells it: N workers on a
// ring, L rounds, chains.
#include "runtime/plan/shape.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/schedule.h"

namespace cerar::runtime {
namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

TEST(Shape, FollowsTheProtocolForEveryNAndC) {
  for (int workers = 1; workers <= 16; ++workers)
    for (int components = 1; components <= 40; ++components) {
      const Shape shape = make_shape(workers, components);
      EXPECT_EQ(shape.rounds, components + workers - 2);
      EXPECT_EQ(shape.visits, shape.rounds + 1);
      EXPECT_EQ(shape.classes * shape.terms, components);
      EXPECT_EQ(shape.classes * shape.chains, workers);
      for (int rank = 0; rank < workers; ++rank) {
        std::map<int, std::vector<int>> visits;  // by class, ascending in time
        for (int t = 1; t <= shape.visits; ++t) {
          const int chain = modulo(rank - t, workers);
          EXPECT_EQ(class_at(shape, rank, t), chain % shape.classes);
          const int phase = phase_of(shape, rank, chain % shape.classes);
          EXPECT_EQ(chain_at(shape, phase, t), (chain - chain % shape.classes) / shape.classes);
          visits[chain % shape.classes].push_back(t);
        }
        for (const auto& [class_index, times] : visits) {
          const int phase = phase_of(shape, rank, class_index);
          ASSERT_EQ(visit_count(shape, phase), static_cast<int>(times.size()));
          int samples = 0;
          for (std::size_t n = 0; n < times.size(); ++n) {
            EXPECT_EQ(visit_time(shape, phase, static_cast<int>(n)), times[n]);
            if (times[n] >= workers && samples++ == 0) {
              EXPECT_EQ(first_sample_visit(shape, phase), static_cast<int>(n));
            }
          }
          EXPECT_EQ(samples, shape.terms);
        }
      }
    }
}

TEST(Shape, RefusesNonsense) {
  EXPECT_THROW(make_shape(0, 1), Error);
  EXPECT_THROW(make_shape(4, 0), Error);
  EXPECT_THROW(make_shape(-3, 2), Error);
}

TEST(Shape, IndexArithmeticBeyondTwoToThe31) {
  const Shape shape = make_shape(4096, 1 << 19);
  EXPECT_EQ(shape.terms, 128);
  EXPECT_EQ(visit_count(shape, 1), 129);
  EXPECT_EQ(visit_time(shape, 4095, 128), 4095 + 128 * 4096);
}

TEST(Step, SumsMoveEveryWorkersShareExactlyOnce) {
  // Follow each message with the set of workers in it; whoever settles or keeps must hold all of them.
  for (int workers : {2, 3, 4, 6, 8, 12})
    for (int c = 1; c <= workers; ++c) {
      if (workers % c != 0) continue;
      const Shape shape = make_shape(workers, c);
      std::vector<std::multiset<int>> message(static_cast<std::size_t>(workers));
      std::vector<int> results(static_cast<std::size_t>(workers), 0);
      for (int t = 1; t <= shape.visits; ++t) {
        std::vector<std::multiset<int>> next(message.size());
        for (int rank = 0; rank < workers; ++rank) {
          const Step step = step_at(shape, Messages::sum, rank, t);
          EXPECT_EQ(step.receives, t > 1);
          EXPECT_EQ(step.sends, t < shape.visits);
          auto held =
              t > 1 ? message[static_cast<std::size_t>(modulo(rank - 1, workers))] : std::multiset<int>{};
          if (step.role != Role::keep) held.insert(rank);
          if (step.role == Role::settle || step.role == Role::keep) {
            for (int worker = 0; worker < workers; ++worker) EXPECT_EQ(held.count(worker), 1u);
            ++results[static_cast<std::size_t>(rank)];
          }
          next[static_cast<std::size_t>(rank)] = held;
        }
        message = next;
      }
      for (int count : results) EXPECT_EQ(count, shape.classes);
    }
}

TEST(Step, EveryClassOpensOnceAndClosesOnce) {
  for (Messages messages : {Messages::plain, Messages::differential})
    for (int workers : {2, 3, 8})
      for (int terms : {2, 3, 8}) {
        const Shape shape = make_shape(workers, workers * terms);
        for (int rank = 0; rank < workers; ++rank) {
          std::map<int, std::vector<Step>> steps;
          for (int t = 1; t <= shape.visits; ++t) {
            const Step step = step_at(shape, messages, rank, t);
            steps[step.class_index].push_back(step);
          }
          ASSERT_EQ(static_cast<int>(steps.size()), workers);
          for (const auto& [class_index, list] : steps) {
            EXPECT_EQ(list.back().role, messages == Messages::plain ? Role::decode : Role::close);
            EXPECT_EQ(list.back().sample, terms - 1);
            int next = 0;
            for (const auto& step : list)
              if (step.sample >= 0) {
                EXPECT_EQ(step.sample, next++);
              }
            EXPECT_EQ(next, terms);
          }
        }
      }
}

TEST(Step, PlainVisitsOfAnyCodeFillEachEarlyLineAndEachSlotOnce) {
  for (int workers : {2, 3, 4, 6, 8, 9})
    for (int c = 2; c <= 3 * workers + 1; ++c) {
      const Shape shape = make_shape(workers, c);
      if (shape.terms < 2) continue;
      for (int rank = 0; rank < workers; ++rank) {
        std::map<int, std::vector<Step>> steps;
        for (int t = 1; t <= shape.visits; ++t) {
          const Step step = step_at(shape, Messages::plain, rank, t);
          EXPECT_EQ(step.phase, modulo(rank - step.class_index, workers));
          steps[step.class_index].push_back(step);
        }
        ASSERT_EQ(static_cast<int>(steps.size()), shape.classes);
        for (const auto& [class_index, list] : steps) {
          // One line for each visit between the first and the samples, one slot for each sample.
          EXPECT_EQ(list.front().role, Role::encode);
          EXPECT_GE(list.front().sample, -shape.chains);
          EXPECT_LE(list.front().sample, 0);
          for (std::size_t n = 1; n < list.size(); ++n) {
            EXPECT_EQ(list[n].sample, list[n - 1].sample + 1);
            const bool is_last = n + 1 == list.size();
            EXPECT_EQ(list[n].role, list[n].sample < 0 ? Role::relay
                                    : is_last          ? Role::decode
                                                       : Role::accumulate)
                << workers << ", " << c;
          }
          EXPECT_EQ(list.back().sample, shape.terms - 1);
          EXPECT_TRUE(list.back().averages);
        }
      }
    }
}

}  // namespace
}  // namespace cerar::runtime
