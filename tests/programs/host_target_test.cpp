// Plans for other processors than this one: the same results bit for bit where this one runs them, and both
// names where it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "generator/generate.h"
#include "runtime/base/processor.h"
#include "runtime/measure/inputs.h"
#include "runtime/measure/rank_threads.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;
using runtime::Construction;
using runtime::Wire;

/// Every rank's result, as bits.
std::vector<unsigned> results_of(const fs::path& plan, int workers, std::size_t count) {
  const runtime::LocalRanks ranks(plan.string(), workers);
  std::vector<unsigned> bits(static_cast<std::size_t>(workers) * count);
  ranks.run([&](int rank) {
    auto vector = runtime::make_input(runtime::Input::normal, rank, count);
    for (std::size_t i = 0; i < count; ++i)
      vector[i] *= i % 7 == 0 ? 1e-30f : 1.0f;  // scales meet in a block
    runtime::require_success(cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32, cerarSum,
                                            ranks.comm(rank), nullptr));
    for (std::size_t i = 0; i < count; ++i)
      bits[static_cast<std::size_t>(rank) * count + i] = std::bit_cast<unsigned>(vector[i]);
  });
  return bits;
}

void expect_same_bits_for_all_targets(Construction construction, int components, Wire wire) {
  const auto directory = fresh_directory("targets");
  std::vector<unsigned> first;
  for (const auto& target : processor_targets()) {
    if (processor_problem(target)) continue;
    auto plan = design_plan(construction, 4, components, 2, wire);
    generator::generate(plan, {.architectures = {}, .host_target = target, .out = directory / target});
    EXPECT_EQ(runtime::load_plan(directory / target).host_target, target);
    const auto results = results_of(directory / target, 4, 5003);
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << target;
  }
}

TEST(HostTarget, GivesTheSameBitsDifferential) {
  expect_same_bits_for_all_targets(Construction::differential, 16, Wire::f32);
}
TEST(HostTarget, GivesTheSameBitsPlain) {
  expect_same_bits_for_all_targets(Construction::optimized, 12, Wire::f32);
}
TEST(HostTarget, GivesTheSameBitsInBlocks) {
  expect_same_bits_for_all_targets(Construction::differential, 8, Wire::fx12);
}
TEST(HostTarget, GivesTheSameBitsInHalves) {
  expect_same_bits_for_all_targets(Construction::ring, 4, Wire::f16);
}

TEST(HostTarget, IsWhatTheCommandLineAsksFor) {
  const auto directory = fresh_directory("targets");
  const std::string target = processor_targets().front();
  const auto tuned = run_in(directory, CERAR_TUNE,
                            {"--topology", "local", "--workers", "3", "--components", "6", "--host-target",
                             target, "--out", "plan"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_EQ(runtime::load_plan(directory / "plan").host_target, target);
  const auto shown = run_in(directory, CERAR_TUNE, {"show", "plan"});
  EXPECT_THAT(shown.out, testing::HasSubstr("host kernels for " + target + ","));
  const auto checked = run_in(directory, CERAR_TUNE, {"check", "plan"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, testing::EndsWith("plan: holds what it claims\n"));
}

TEST(HostTarget, UnknownIsRefusedWithTheKnown) {
  expect_refused(fresh_directory("targets"), CERAR_TUNE, {"--topology", "local", "--host-target", "pentium"},
                 {"--host-target is 'pentium'", processor_targets().front()});
}

TEST(HostTarget, IsNotForAFront) {
  expect_refused(fresh_directory("targets"), CERAR_TUNE,
                 {"--topology", "local", "--pareto", "--host-target", processor_targets().front()},
                 {"--host-target", "--pareto"});
}

fs::path plan_for_a_newer_processor() {
  const auto plan = copy_of(exact_plan());
  edit_plan(plan, [](const std::string& text) {
    const std::size_t begin = text.find("host_target: "), end = text.find('\n', begin);
    return text.substr(0, begin) + "host_target: \"x86-64-v9\"" + text.substr(end);
  });
  return plan;
}

TEST(HostTarget, ANewerProcessorsPlanIsRefusedWithBothNames) {
  expect_refused(fresh_directory("targets"), CERAR_BENCH, {"--plan", plan_for_a_newer_processor().string()},
                 {"a processor of x86-64-v9", "this one is of " + processor_target(),
                  "--host-target " + processor_target()});
}

// What can be compared without running it is compared.
TEST(HostTarget, ANewerProcessorsPlanIsCheckedAsThisOneRunsIt) {
  const auto result =
      run_in(fresh_directory("targets"), CERAR_TUNE, {"check", plan_for_a_newer_processor().string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              testing::HasSubstr("host kernels are for a processor of x86-64-v9, and this one is of " +
                                 processor_target()));
}

}  // namespace
}  // namespace cerar::test
