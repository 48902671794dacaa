// Bad input: one sentence each, that names the thing, the value and what to do; nothing is leaked and nothing
// hangs.
#include "tests/device/support/refusals.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/temporary_directory.h"
#include "runtime/measure/time_limit.h"
#include "tests/device/support/vectors.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

using namespace runtime;

// What a program finds that has this on its library path.
CommandResult alone(const std::string& libraries, std::vector<std::string> environment,
                    const std::string& device, const std::string& plan) {
  environment.push_back("LD_LIBRARY_PATH=" + libraries);
  CommandOptions options;
  options.environment = std::move(environment);
  options.time_limit = std::chrono::milliseconds(20000);
  return run_command({CERAR_LONE_PROGRAM, device, plan}, options);
}

void expect_alone(const CommandResult& done, cerarResult_t expected, const std::vector<std::string>& words) {
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::string line = done.out.substr(0, done.out.find_last_not_of('\n') + 1);
  EXPECT_EQ(std::atoi(line.c_str()), static_cast<int>(expected)) << line;
  expect_words(line.substr(line.find(' ') + 1), words);
}

bool installed(const std::string& library) {
  return run_command({"/bin/sh", "-c", "/sbin/ldconfig -p | grep -q " + library}).exit_code == 0;
}

TEST_F(Refusals, NoDriver) {
  if (installed("libcuda.so.1")) GTEST_SKIP() << "this machine has a driver";
  expect_alone(alone("/nonexistent", {}, "0", "-"), cerarUnsupported,
               {"libcuda.so.1 cannot be opened", "need the NVIDIA driver"});
}

TEST_F(Refusals, NcclIsMissing) {
  // It may be installed; a file of its name that is no library comes first, and stands for its absence.
  const TemporaryDirectory directory;
  std::filesystem::copy(std::string(CERAR_STAND_INS) + "/libcuda.so.1", directory.path() / "libcuda.so.1");
  std::ofstream(directory.path() / "libnccl.so.2") << "not a library";
  expect_alone(alone(directory.path().string(), {}, "0", "-"), cerarUnsupported,
               {"libnccl.so.2 cannot be opened", "install NCCL 2.18 or newer"});
}

TEST_F(Refusals, NcclIsTooOld) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_NCCL_VERSION=21705"}, "0", "-"), cerarUnsupported,
               {"libnccl.so.2 is version 2.17.5", "install NCCL 2.18 or newer"});
}

TEST_F(Refusals, NoDevice) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_DEVICES=0"}, "0", "-"), cerarUnsupported,
               {"finds no device", "CUDA_VISIBLE_DEVICES"});
}

TEST_F(Refusals, TheDriverDoesNotStart) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_INIT_ERROR=802"}, "0", "-"), cerarUnsupported,
               {"does not start", "error 802", "see what nvidia-smi says"});
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_INIT_ERROR=803"}, "0", "-"), cerarUnsupported,
               {"does not start", "error 803", "in the version of the kernel module"});
}

TEST_F(Refusals, TheDriverIsTooOld) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_DRIVER=11020"}, "0", "-"), cerarUnsupported,
               {"CUDA 11.2 only", "install one for 11.4 or newer"});
}

TEST_F(Refusals, AnArchitectureThatIsNotInThePlan) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_ARCH=75"}, "0", plan_), cerarUnsupported,
               {"kernels for sm_80, compute_80,", "device 0", "is sm_75", "cerar-tune with --arch sm_75"});
}

// A driver from before the toolkit that made the PTX.
TEST_F(Refusals, PtxThatTheDriverDoesNotTake) {
  software_gpu_architecture(120);
  const DeviceRanks ranks(Link::peers, plan_, 3, kTimeoutMs);
  software_gpu_fail("cuModuleLoadData", 1, kCuUnsupportedPtxVersion);
  std::atomic<int> hit = 0;
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    if (side.call() != cerarInvalidPlan) return;
    ++hit;
    expect_words(cerarGetLastError(),
                 {".compute_80.ptx cannot be loaded on device", "sm_120, driver for CUDA 13.0",
                  "unsupported toolchain", "run cerar-tune with --arch sm_120", "not newer than the driver"});
  });
  EXPECT_EQ(hit, 1);
}

TEST_F(Refusals, ADeviceThatDoesNotExist) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_DEVICES=4"}, "17", "-"), cerarInvalidArgument,
               {"device 17 does not exist", "there are 4"});
  cerarPlan_t plan = nullptr;
  require_success(cerarPlanLoad(&plan, plan_.c_str()));
  cerarComm_t comms[3] = {};
  const int devices[] = {0, 1, 99};
  expect_refused(cerarCommInitGpus(comms, 3, devices, plan, TimeLimit(kTimeoutMs)), cerarInvalidArgument,
                 {"device 99 does not exist", "there are 8"});
  cerarPlanFree(plan);
}

TEST_F(Refusals, AWrongNumberOfRanks) {
  cerarPlan_t plan = nullptr;
  require_success(cerarPlanLoad(&plan, plan_.c_str()));
  cerarComm_t comms[2] = {};
  const int devices[] = {0, 1};
  expect_refused(cerarCommInitGpus(comms, 2, devices, plan, TimeLimit(kTimeoutMs)), cerarInvalidPlan,
                 {"for 3 workers", "2 ranks", "cerar-tune --workers 2"});
  cerarPlanFree(plan);
  try {
    const DeviceRanks ranks(Link::nccl, plan_, 2, kTimeoutMs);
    ADD_FAILURE() << "accepted";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("for 3 workers but 2 ranks"), std::string::npos) << error.what();
  }
}

TEST_F(Refusals, GpusNeedAPlan) {
  cerarComm_t comms[2] = {};
  const int devices[] = {0, 1};
  expect_refused(cerarCommInitGpus(comms, 2, devices, nullptr, TimeLimit(kTimeoutMs)), cerarInvalidArgument,
                 {"plan is a null pointer"});
}

TEST_F(Refusals, PointersAndStreamsOfOthersAreRefusedAndNothingIsHarmed) {
  const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
  CuAddress elsewhere = 0;
  ranks.run([&](int rank) {
    if (rank == 1) require_driver(cuMemAlloc_v2(&elsewhere, kCount * sizeof(float)), "cuMemAlloc");
  });
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    if (rank == 0) {
      std::vector<float> host(kCount);
      void* const stream = ranks.stream(0);
      expect_refused(side.call(host.data(), side.receive.data(), stream), cerarInvalidArgument,
                     {"send", "is not device memory", "copy the vector to device 0"});
      expect_refused(side.call(side.send.data(), host.data(), stream), cerarInvalidArgument,
                     {"recv", "is not device memory"});
      expect_refused(side.call(reinterpret_cast<void*>(static_cast<std::uintptr_t>(elsewhere)),
                               side.receive.data(), stream),
                     cerarInvalidArgument, {"send", "memory of device 1", "the communicator's is device 0"});
      expect_refused(side.call(side.send.data(), side.receive.data(), ranks.stream(1)), cerarInvalidArgument,
                     {"belongs to another device", "pass one of device 0"});
      CuStream gone = nullptr;
      require_driver(cuStreamCreate(&gone, kCuStreamNonBlocking), "cuStreamCreate");
      require_driver(cuStreamDestroy_v2(gone), "cuStreamDestroy");
      expect_refused(side.call(side.send.data(), side.receive.data(), gone), cerarInvalidArgument,
                     {"is not a valid CUDA stream", "pass a live stream of device 0"});
    }
    require_success(side.call());
    side.wait();
  });
  ranks.run([&](int rank) {
    if (rank == 1) cuMemFree_v2(elsewhere);
  });
}

TEST_F(Refusals, ACommunicatorThatWasAborted) {
  CuContext context = nullptr;
  require_driver(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  require_driver(cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
  NcclUniqueId id{};
  NcclComm nccl = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), kNcclSuccess);
  ASSERT_EQ(ncclCommInitRank(&nccl, 1, id, 0), kNcclSuccess);
  ASSERT_EQ(ncclCommAbort(nccl), kNcclSuccess);
  cerarComm_t comm = nullptr;
  expect_refused(
      cerarCommInitNccl(&comm, nccl, nullptr, TimeLimit(kTimeoutMs)), cerarInvalidArgument,
      {"is not a communicator that NCCL 2.28.7 of ", "libnccl.so.2 knows", "pass a live ncclComm_t"});
  EXPECT_EQ(comm, nullptr);
  require_driver(cuCtxPopCurrent_v2(&context), "cuCtxPopCurrent");
  require_driver(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
}

TEST_F(Refusals, PlansThatDiffer) {
  const std::string other = device_plan(Construction::differential, 3, 9);
  with_nccl(3, true, ncclCommDestroy, [&](int rank, NcclComm nccl) {
    cerarPlan_t plan = nullptr;
    require_success(cerarPlanLoad(&plan, (rank == 2 ? other : plan_).c_str()));
    cerarComm_t comm = nullptr;
    expect_refused(cerarCommInitNccl(&comm, nccl, plan, TimeLimit(kTimeoutMs)), cerarMismatch,
                   {"ranks 0 and 2", "different plans", "all ranks must pass the same"});
    EXPECT_EQ(comm, nullptr);
    cerarPlanFree(plan);
  });
}

TEST_F(Refusals, CallsWithinAGroupOfNccls) {
  const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    ncclGroupStart();
    expect_refused(side.call(), cerarInvalidArgument, {"called inside an NCCL group", "call it outside"});
    require_success(cerarResult_t(ncclGroupEnd()));
    require_success(side.call());
    side.wait();
  });
}

TEST_F(Refusals, CountsThatDifferAreFoundAndTheCommunicatorStaysUsable) {
  for (const Link link : {Link::nccl, Link::peers}) {
    const DeviceRanks ranks(link, plan_, 3, kTimeoutMs);
    ranks.run([&](int rank) {
      const Side side(ranks, rank, rank == 1 ? kCount + 1 : kCount);
      expect_refused(side.call(), cerarMismatch,
                     {"ranks 0 and 1", "number 0", "counts 3000 and 3001", "must pass the same"});
      const Side again(ranks, rank);
      require_success(again.call());
      again.wait();
    });
  }
}

TEST_F(Refusals, CubinsAreThoseThatWereLoadedWhateverBecomesOfTheDirectory) {
  const TemporaryDirectory directory;
  const auto copy = directory.path() / "plan";
  std::filesystem::copy(plan_, copy, std::filesystem::copy_options::recursive);
  const DeviceRanks ranks(Link::nccl, copy.string(), 3, kTimeoutMs);
  for (const auto& file : std::filesystem::directory_iterator(copy / "kernels"))
    if (file.path().extension() == ".cubin") std::ofstream(file.path()) << "x";
  std::filesystem::remove_all(copy);
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    require_success(side.call());
    std::vector<float> sum(kCount);
    side.receive.download(sum.data(), ranks.stream(rank));
    side.wait();
    EXPECT_EQ(sum, std::vector<float>(kCount, 3.0f));
  });
}

}  // namespace
}  // namespace cerar::test
