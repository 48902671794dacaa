// Plans on devices, end to end: every family of kernels, every kind of connection, against sums in double.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <limits>
#include <thread>

#include "runtime/measure/measure.h"
#include "runtime/measure/time_limit.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_ranks.h"
#include "tests/device/support/device_test.h"
#include "tests/device/support/refusals.h"
#include "tests/device/support/vectors.h"
#include "tests/software_gpu/software_gpu.h"
#include "tests/software_gpu/software_nccl.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Input;
using runtime::Wire;

constexpr Link kLinks[] = {Link::nccl, Link::nccl_id, Link::peers, Link::one_gpu};

class Device : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    software_gpu_delays(10, 1);
  }
};

TEST_F(Device, ExactCodesAreExactOnEveryLink) {
  for (const int workers : {2, 3, 4, 8})
    for (const int components : {1, 2, 3, workers}) {
      if (workers % components != 0 || (workers == 8 && components != 8)) continue;
      const std::string plan = device_plan(Construction::ring, workers, components);
      for (const Link link : kLinks) {
        if (workers == 8 && link != Link::nccl) continue;
        const DeviceRanks ranks(link, plan, workers);
        for (const bool in_place : {false, true})
          for (const std::size_t count : {std::size_t{1}, std::size_t{4097}}) {
            SCOPED_TRACE(name_of(link) + ", N = " + std::to_string(workers) +
                         ", c = " + std::to_string(components));
            const Vectors vectors = inputs(workers, count, Input::integers);
            expect_exact_sums(vectors, all_reduce(ranks, vectors, in_place));
          }
      }
    }
}

// What a rank does the others wait for, so nothing of it may stand behind the caller's own kernels.
TEST_F(Device, AllWorkIsOnStreamsOfTheGreatestPriority) {
  const std::string plan = device_plan(Construction::ring, 3, 3);
  for (const Link link : {Link::nccl, Link::nccl_id, Link::peers}) {
    SCOPED_TRACE(name_of(link));
    const DeviceRanks ranks(link, plan, 3);
    const Vectors given = inputs(3, 3 * 65536 + 1, Input::integers);
    expect_exact_sums(given, all_reduce(ranks, given, false));
    EXPECT_GT(last_call(ranks).lanes, 1);
    EXPECT_EQ(counted().patient_work, 0);
  }
}

// Cubins of sm_80 run on its own generation alone; the driver compiles PTX for later ones.
TEST_F(Device, GpusOfEveryGenerationRunAPlan) {
  const std::string plan = device_plan(Construction::ring, 2, 2);
  for (const int architecture : {80, 86, 89, 90, 100, 103, 120, 130}) {
    SCOPED_TRACE(architecture);
    {
      software_gpu_architecture(architecture);
      const DeviceRanks ranks(Link::peers, plan, 2);
      const Vectors given = inputs(2, 1001, Input::integers);
      expect_exact_sums(given, all_reduce(ranks, given, false));
      EXPECT_EQ(counted().modules_live, 2);
      EXPECT_EQ(counted().ptx_modules_live, architecture < 90 ? 0 : 2);
    }
    expect_nothing_left();
  }
}

// From before the first message until the communicator's end; the stand-in complains of any other order.
TEST_F(Device, MessagesAreInMemoryThatNcclHasRegistered) {
  const std::string plan = device_plan(Construction::ring, 3, 3);
  for (const Link link : {Link::nccl, Link::nccl_id}) {
    SCOPED_TRACE(name_of(link));
    {
      const DeviceRanks ranks(link, plan, 3);
      // One communicator of CERAR's for each rank, beside the caller's.
      EXPECT_EQ(software_nccl_communicators(), link == Link::nccl ? 6 : 3);
      const Vectors given = inputs(3, 3 * 65536 + 1, Input::integers);
      expect_exact_sums(given, all_reduce(ranks, given, false));
      ASSERT_EQ(last_call(ranks).lanes, 2);
      EXPECT_EQ(software_nccl_registrations(), 3 * 2 * 2);  // two messages of each lane
    }
    expect_nothing_left();
  }
}

// NCCL may have none of its own to give, or refuse to register it: then messages go the ordinary way.
TEST_F(Device, MessagesNeedNoMemoryOfNccls) {
  const std::string plan = device_plan(Construction::ring, 3, 3);
  for (const char* const function : {"ncclMemAlloc", "ncclCommRegister"}) {
    SCOPED_TRACE(function);
    {
      const DeviceRanks ranks(Link::nccl, plan, 3);
      software_nccl_fail(function, 1, runtime::kNcclSystemError);
      const Vectors given = inputs(3, 3001, Input::integers);
      expect_exact_sums(given, all_reduce(ranks, given, false));
      EXPECT_EQ(software_nccl_registrations(), function[4] == 'M' ? 6 : 5);
    }
    expect_nothing_left();
  }
}

// Two communicators of NCCL's on one device must come in the same order on every rank, for instance on one
// stream. What the first call does besides its messages is work as well.
TEST_F(Device, FirstCallsStayBehindTheCallersOwnNccl) {
  constexpr std::size_t kElements = 3000;
  const std::string plan = device_plan(Construction::ring, 3, 3);
  std::barrier<> made(3);
  with_nccl(3, true, runtime::ncclCommDestroy, [&](int rank, runtime::NcclComm nccl) {
    cerarPlan_t loaded = nullptr;
    runtime::require_success(cerarPlanLoad(&loaded, plan.c_str()));
    cerarComm_t comm = nullptr;
    runtime::require_success(cerarCommInitNccl(&comm, nccl, loaded, TimeLimit(10000)));
    cerarPlanFree(loaded);
    runtime::CuStream stream = nullptr;
    require_driver(runtime::cuStreamCreate(&stream, runtime::kCuStreamNonBlocking), "cuStreamCreate");
    {
      const DeviceVector vector(kElements * sizeof(float));
      vector.upload(std::vector<float>(kElements, 1.0f).data(), stream);
      made.arrive_and_wait();
      // The others are within their work on the caller's communicator for a while.
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(runtime::ncclAllReduce(vector.data(), vector.data(), kElements, runtime::kNcclFloat32,
                                       runtime::kNcclSum, nccl, stream),
                runtime::kNcclSuccess);
      runtime::require_success(
          cerarAllReduce(vector.data(), vector.data(), kElements, cerarFloat32, cerarSum, comm, stream));
      std::vector<float> sums(kElements);
      vector.download(sums.data(), stream);
      EXPECT_EQ(sums, std::vector<float>(kElements, 9.0f));
    }
    require_driver(runtime::cuStreamDestroy_v2(stream), "cuStreamDestroy");
    cerarCommDestroy(comm);
  });
  EXPECT_EQ(software_nccl_overlaps(), 0);
}

struct Code {
  Construction construction;
  int workers, components;
};
constexpr Code kCodes[] = {{Construction::unimodular, 4, 3},   {Construction::optimized, 4, 8},
                           {Construction::optimized, 4, 6},    {Construction::optimized, 8, 12},
                           {Construction::differential, 3, 9}, {Construction::differential, 8, 64}};

TEST_F(Device, CommunicatorsOfTheCallersThatDoNotBlockWork) {
  const DeviceRanks ranks(Link::polled, device_plan(Construction::ring, 3, 3), 3);
  const Vectors given = inputs(3, 3001, Input::integers);
  expect_exact_sums(given, all_reduce(ranks, given, false));
}

TEST_F(Device, ApproximateCodesKeepTheirClaim) {
  for (const Code& code : kCodes)
    for (const Wire wire : {Wire::f32, Wire::fx16}) {
      const std::string plan = device_plan(code.construction, code.workers, code.components, 2, wire);
      for (const Link link : {Link::nccl, Link::one_gpu}) {
        const DeviceRanks ranks(link, plan, code.workers);
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(name_of(link) + ", c = " + std::to_string(code.components) + " in " +
                       std::string(runtime::name_of(wire)));
          const auto count = static_cast<std::size_t>(code.components) * 700 + 13;
          const Vectors vectors = inputs(code.workers, count);
          const cerarRedOp_t op = in_place ? cerarAverage : cerarSum;
          const double error =
              relative_error(vectors, all_reduce(ranks, vectors, in_place, op), op == cerarAverage);
          const double claim = last_call(ranks).claimed_error;
          EXPECT_GT(error, 0.5 * claim);
          EXPECT_LT(error, 1.2 * claim);
        }
      }
    }
}

TEST_F(Device, LongVectorsUseAllLanes) {
  const std::string path = device_plan(Construction::differential, 4, 8, 4);
  const runtime::Plan plan = runtime::load_plan(path);
  const int rounds = plan.variants[0].shape.rounds;
  for (const Link link : {Link::nccl, Link::peers}) {
    const DeviceRanks ranks(link, path, 4);
    const Vectors vectors = inputs(4, 8 * 131072 + 5);
    const double error = relative_error(vectors, all_reduce(ranks, vectors, true));
    const auto info = last_call(ranks);
    EXPECT_LT(error, 1.2 * info.claimed_error);
    EXPECT_EQ(info.lanes, 4);
    EXPECT_LE(info.launches, static_cast<std::uint64_t>(2 * rounds * info.lanes));
    EXPECT_LE(info.messages, static_cast<std::uint64_t>(2 * rounds * info.lanes));
    EXPECT_EQ(info.launches, static_cast<std::uint64_t>((rounds + 1) * info.lanes));
    EXPECT_EQ(info.messages, static_cast<std::uint64_t>(rounds * info.lanes));
  }
}

TEST_F(Device, UnalignedVectorsWork) {
  for (const Wire wire : {Wire::f32, Wire::bf16, Wire::fx16, Wire::fx8}) {
    SCOPED_TRACE(std::string(runtime::name_of(wire)));
    const std::string plan = device_plan(Construction::ring, 3, 3, 2, wire);
    const DeviceRanks ranks(Link::nccl, plan, 3);
    const Vectors vectors = inputs(3, 9000 + 7);
    const Vectors aligned = all_reduce(ranks, vectors, false);
    EXPECT_EQ(all_reduce(ranks, vectors, false, cerarSum, 4), aligned);
    EXPECT_EQ(all_reduce(ranks, vectors, true, cerarSum, 12), aligned);
  }
}

TEST_F(Device, NothingNotFiniteIsLost) {
  const std::string plan = device_plan(Construction::differential, 4, 16);
  const DeviceRanks ranks(Link::nccl, plan, 4);
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Vectors vectors = inputs(4, 16 * 64 + 3);
    vectors[2][777] = value;
    const Vectors results = all_reduce(ranks, vectors, true);
    for (const auto& result : results) {
      EXPECT_FALSE(std::isfinite(result[777]));
      EXPECT_TRUE(std::isfinite(result[5]));
    }
  }
}

TEST_F(Device, EmptyVectorsAndSingleRanksWork) {
  const DeviceRanks ranks(Link::nccl, device_plan(Construction::ring, 2, 2), 2);
  ranks.run([&](int rank) {
    runtime::require_success(
        cerarAllReduce(nullptr, nullptr, 0, cerarFloat32, cerarSum, ranks.comm(rank), ranks.stream(rank)));
  });
  const DeviceRanks alone(Link::nccl, device_plan(Construction::ring, 2, 2), 1);
  const Vectors vectors = inputs(1, 1000);
  EXPECT_EQ(all_reduce(alone, vectors, false), vectors);
  EXPECT_EQ(all_reduce(alone, vectors, true), vectors);
}

TEST_F(Device, TwoCommunicatorsDoNotDisturbEachOther) {
  const std::string plan = device_plan(Construction::differential, 4, 16);
  const DeviceRanks first(Link::nccl, plan, 4), second(Link::peers, plan, 4);
  const Vectors vectors = inputs(4, 16 * 320);
  Vectors results[2];
  {
    std::jthread other([&] { results[1] = all_reduce(second, vectors, false); });
    results[0] = all_reduce(first, vectors, false);
  }
  for (const auto& result : results)
    EXPECT_LT(relative_error(vectors, result), 1.2 * last_call(first).claimed_error);
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(Device, TheBaselineIsUsedWhereThePlanSaysSo) {
  const std::string plan = device_plan(Construction::ring, 4, 4, 2, Wire::f32, 4000);
  const DeviceRanks ranks(Link::nccl, plan, 4);
  for (const std::size_t count : {999u, 1000u, 1001u}) {
    const Vectors vectors = inputs(4, count, Input::integers);
    expect_exact_sums(vectors, all_reduce(ranks, vectors, true));
    EXPECT_EQ(std::string(last_call(ranks).variant) == "baseline", count <= 1000) << count;
  }
  const DeviceRanks without(Link::nccl, "", 4);
  const Vectors vectors = inputs(4, 5000, Input::integers);
  // Preparing makes one, so that NCCL connects what it takes; preparing again does nothing.
  const long long before = counted().bytes_live;
  for (int i = 0; i < 2; ++i)
    without.run([&](int rank) {
      runtime::require_success(cerarCommPrepare(without.comm(rank), 5000, cerarFloat32, cerarSum));
    });
  EXPECT_EQ(counted().bytes_live, before);
  expect_exact_sums(vectors, all_reduce(without, vectors, false));
  EXPECT_STREQ(last_call(without).variant, "baseline");
}

TEST_F(Device, SteadyCallsNeitherAllocateNorWait) {
  const DeviceRanks ranks(Link::nccl, device_plan(Construction::differential, 4, 16), 4);
  constexpr std::size_t kCount = 16 * 2000 + 3;
  SoftwareGpuCounters before{}, after{};
  std::barrier<> together(4);
  ranks.run([&](int rank) {
    const DeviceVector vector(kCount * sizeof(float));
    const std::vector<float> values(kCount, 1.0f);
    vector.upload(values.data(), ranks.stream(rank));
    const auto call = [&] {
      runtime::require_success(cerarAllReduce(vector.data(), vector.data(), kCount, cerarFloat32,
                                              cerarAverage, ranks.comm(rank), ranks.stream(rank)));
    };
    runtime::require_success(cerarCommPrepare(ranks.comm(rank), kCount, cerarFloat32, cerarAverage));
    together.arrive_and_wait();
    if (rank == 0) software_gpu_counters(&before);
    together.arrive_and_wait();
    for (int i = 0; i < 20; ++i) call();
    together.arrive_and_wait();
    if (rank == 0) software_gpu_counters(&after);
    together.arrive_and_wait();
    require_driver(runtime::cuStreamSynchronize(ranks.stream(rank)), "cuStreamSynchronize");
  });
  EXPECT_EQ(after.host_synchronisations, before.host_synchronisations);
  EXPECT_EQ(after.allocations_live, before.allocations_live);
  EXPECT_EQ(after.events_live, before.events_live);
  EXPECT_EQ(after.modules_live, before.modules_live);
}

}  // namespace
}  // namespace cerar::test
