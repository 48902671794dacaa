// Real vectors between processes, compared with sums in double.
#include <gmock/gmock.h>

#include "runtime/measure/job_rank.h"
#include "runtime/measure/time_limit.h"
#include "runtime/plan/plan_file.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

struct Case {
  const char* construction;
  int workers, components;
  const char* wire = "f32";
};

class JobClaims : public testing::TestWithParam<Case> {};

TEST_P(JobClaims, EveryRankStaysWithinThePlansClaim) {
  const auto [construction, workers, components, wire] = GetParam();
  const std::string plan = job_plan(construction, workers, components, wire), store = fresh_store();
  const auto claim = runtime::load_plan(plan).variants[0].claim;
  // Unimodular codes decode each phase with an inverse of its own; the claim is the mean over phases.
  const double worst = construction == std::string("unimodular") ? 1.7 : 1.2;
  expect_all(workers, [&, workers = workers](int rank) -> std::string {
    const runtime::JobRank job(
        rank, workers, runtime::make_job_comms(plan, [&](cerarComm_t* comm, cerarPlan_t loaded) {
          return cerarCommInitGloo(comm, rank, workers, loaded, store.c_str(), nullptr, TimeLimit(60000));
        }));
    for (const std::size_t count : {100003u, 4097u, 1u})
      for (const bool in_place : {false, true}) {
        runtime::MeasureOptions options{.count = count, .in_place = in_place};
        if (claim.total == 0) options.input = runtime::Input::integers;
        const auto errors = runtime::measure_errors(job, options);
        if (errors.wrong > 0) return "wrong elements: " + std::to_string(errors.wrong);
        if (claim.total == 0 && errors.not_equal > 0) return "not exact";
        if (claim.total == 0 || count < 100000) continue;
        if (errors.relative_rms > 1.2 * claim.total || errors.worst_rank > worst * claim.total)
          return "above the claim: " + std::to_string(errors.relative_rms / claim.total) + " of it, " +
                 std::to_string(errors.worst_rank / claim.total) + " on the worst rank";
        if (errors.relative_rms < 0.5 * claim.total) return "the claim says nothing";
        if (errors.between_ranks < 0.3 * errors.relative_rms) return "ranks did not differ";
      }
    return "ok";
  });
}

constexpr Case kCases[] = {{"ring", 2, 1},
                           {"ring", 2, 2},
                           {"ring", 3, 3},
                           {"unimodular", 8, 3},
                           {"ring", 8, 8},
                           {"ring", 16, 16},
                           {"differential", 3, 6},
                           {"differential", 4, 16},
                           {"differential", 8, 32},
                           {"differential", 16, 64},
                           {"harmonic", 4, 8},
                           {"optimized", 8, 20},
                           {"differential", 8, 32, "fx16"},
                           {"differential", 4, 16, "bf16"}};
INSTANTIATE_TEST_SUITE_P(Processes, JobClaims, testing::ValuesIn(kCases), [](const auto& info) {
  return std::string(info.param.construction) + "N" + std::to_string(info.param.workers) + "c" +
         std::to_string(info.param.components) +
         (info.param.wire == std::string("f32") ? "" : info.param.wire);
});

}  // namespace
}  // namespace cerar::test
