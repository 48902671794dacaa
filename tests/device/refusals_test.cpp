// Bad input and failures: one sentence each, that names the thing, the value and what to do; nothing is
// leaked and nothing hangs.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/base/temporary_directory.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_test.h"
#include "tests/device/support/vectors.h"
#include "tests/software_gpu/software_nccl.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr int kTimeoutMs = 300;
constexpr std::size_t kCount = 3000;

// One sentence with all of these words.
void expect_words(const std::string& sentence, const std::vector<std::string>& words) {
  for (const auto& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << word << " in " << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  EXPECT_TRUE(!sentence.empty() && sentence.back() == '.') << sentence;
}

void expect_refused(cerarResult_t result, cerarResult_t expected, const std::vector<std::string>& words) {
  EXPECT_EQ(result, expected) << cerarGetLastError();
  expect_words(cerarGetLastError(), words);
}

// A stream and two vectors of one rank, and calls on them.
struct Side {
  Side(const DeviceRanks& all, int of, std::size_t elements = kCount)
      : ranks(all), rank(of), count(elements), send(count * sizeof(float)), receive(count * sizeof(float)) {
    const std::vector<float> values(count, 1.0f);
    send.upload(values.data(), ranks.stream(rank));
  }
  cerarResult_t call() const { return call(send.data(), receive.data(), ranks.stream(rank)); }
  cerarResult_t call(const void* from, void* to, void* stream) const {
    return cerarAllReduce(from, to, count, cerarFloat32, cerarSum, ranks.comm(rank), stream);
  }
  void wait() const { require_driver(cuStreamSynchronize(ranks.stream(rank)), "cuStreamSynchronize"); }

  const DeviceRanks& ranks;
  int rank;
  std::size_t count;
  DeviceVector send, receive;
};

// After it calls are steady.
void call_once(const DeviceRanks& ranks) {
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    require_success(side.call());
    side.wait();
  });
}

// Waits until the communicator knows of a failure; it must within some time.
cerarResult_t awaited_error(cerarComm_t comm) {
  cerarResult_t error = cerarSuccess;
  for (int i = 0; i < 10000 && error == cerarSuccess; ++i) {
    require_success(cerarCommGetAsyncError(comm, &error));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return error;
}

class Refusals : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    plan_ = device_plan(Construction::ring, 3, 3);
  }
  std::string plan_;
};

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

TEST_F(Refusals, TheDriverIsTooOld) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_DRIVER=11020"}, "0", "-"), cerarUnsupported,
               {"CUDA 11.2 only", "install one for 11.4 or newer"});
}

TEST_F(Refusals, AnArchitectureThatIsNotInThePlan) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_ARCH=75"}, "0", plan_), cerarUnsupported,
               {"kernels for sm_80", "device 0", "is sm_75", "cerar-tune with --arch sm_75"});
}

TEST_F(Refusals, ADeviceThatDoesNotExist) {
  expect_alone(alone(CERAR_STAND_INS, {"SOFTWARE_GPU_DEVICES=4"}, "17", "-"), cerarInvalidArgument,
               {"device 17 does not exist", "there are 4"});
  cerarPlan_t plan = nullptr;
  require_success(cerarPlanLoad(&plan, plan_.c_str()));
  cerarComm_t comms[3] = {};
  const int devices[] = {0, 1, 99};
  expect_refused(cerarCommInitGpus(comms, 3, devices, plan, kTimeoutMs), cerarInvalidArgument,
                 {"device 99 does not exist", "there are 8"});
  cerarPlanFree(plan);
}

TEST_F(Refusals, AWrongNumberOfRanks) {
  cerarPlan_t plan = nullptr;
  require_success(cerarPlanLoad(&plan, plan_.c_str()));
  cerarComm_t comms[2] = {};
  const int devices[] = {0, 1};
  expect_refused(cerarCommInitGpus(comms, 2, devices, plan, kTimeoutMs), cerarInvalidPlan,
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
  expect_refused(cerarCommInitGpus(comms, 2, devices, nullptr, kTimeoutMs), cerarInvalidArgument,
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
                     {"is none", "pass a live stream of device 0"});
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
  expect_refused(cerarCommInitNccl(&comm, nccl, nullptr, kTimeoutMs), cerarInvalidArgument,
                 {"is not a communicator that NCCL knows", "pass a live ncclComm_t"});
  EXPECT_EQ(comm, nullptr);
  require_driver(cuCtxPopCurrent_v2(&context), "cuCtxPopCurrent");
  require_driver(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
}

TEST_F(Refusals, PlansThatDiffer) {
  const std::string other = device_plan(Construction::differential, 3, 9);
  std::vector<NcclComm> comms(3);
  NcclUniqueId id{};
  ncclGetUniqueId(&id);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      CuContext context = nullptr;
      cuDevicePrimaryCtxRetain(&context, rank);
      cuCtxPushCurrent_v2(context);
      ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank);
      cerarPlan_t plan = nullptr;
      require_success(cerarPlanLoad(&plan, (rank == 2 ? other : plan_).c_str()));
      cerarComm_t comm = nullptr;
      expect_refused(cerarCommInitNccl(&comm, comms[static_cast<std::size_t>(rank)], plan, kTimeoutMs),
                     cerarMismatch, {"ranks 0 and 2", "different plans", "all ranks must pass the same"});
      EXPECT_EQ(comm, nullptr);
      cerarPlanFree(plan);
      ncclCommDestroy(comms[static_cast<std::size_t>(rank)]);
      cuDevicePrimaryCtxRelease_v2(rank);
    });
}

TEST_F(Refusals, CallsWithinAGroupOfNccls) {
  const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    ncclGroupStart();
    expect_refused(side.call(), cerarInvalidArgument, {"ncclGroupStart", "must not lie between", "number 0"});
    EXPECT_EQ(awaited_error(ranks.comm(rank)), cerarInvalidArgument);
    ncclGroupEnd();
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

TEST_F(Refusals, ARankThatNeverCalls) {
  for (const Link link : {Link::nccl, Link::peers}) {
    const DeviceRanks ranks(link, plan_, 3, kTimeoutMs);
    ranks.run([&](int rank) {
      if (rank == 2) return;
      const Side side(ranks, rank);
      const cerarResult_t result = side.call();
      EXPECT_TRUE(result == cerarTimeout || result == cerarPeerFailed) << result;
      expect_words(cerarGetLastError(), {"300 ms", "number 0"});
      EXPECT_EQ(awaited_error(ranks.comm(rank)), result);
      const cerarResult_t later = side.call();
      EXPECT_TRUE(later == cerarTimeout || later == cerarPeerFailed) << later;
      expect_words(cerarGetLastError(), {"this communicator failed before"});
    });
  }
}

TEST_F(Refusals, ARankThatStopsInTheMiddleIsNoticedAndStreamsGoOn) {
  for (const Link link : {Link::nccl, Link::peers}) {
    SCOPED_TRACE(name_of(link));
    const DeviceRanks ranks(link, plan_, 3, kTimeoutMs);
    ranks.run([&](int rank) {
      const Side side(ranks, rank);
      require_success(side.call());
      side.wait();
      if (rank == 1) return;
      // Calls over NCCL return once they are enqueued; with copies the threads meet in each round.
      const cerarResult_t result = side.call();
      EXPECT_EQ(result == cerarSuccess, link == Link::nccl) << result;
      const cerarResult_t error = awaited_error(ranks.comm(rank));
      EXPECT_TRUE(error == cerarTimeout || (link == Link::peers && error == cerarPeerFailed)) << error;
      expect_words(cerarGetLastError(), {" waited 300 ms", "rank", "number 1"});
      side.wait();
      EXPECT_EQ(side.call(), error);
      expect_words(cerarGetLastError(), {"this communicator failed before", "number 1"});
    });
  }
}

// One rank's n-th call of a function of NCCL's fails; every rank hears of it, and nobody hangs.
void fail_nccl(const DeviceRanks& ranks, const char* function, const std::vector<std::string>& words) {
  SCOPED_TRACE(function);
  std::atomic<int> hit = 0;
  call_once(ranks);
  software_nccl_fail(function, 2, kNcclSystemError);
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    const cerarResult_t result = side.call();
    if (result == cerarSuccess) {
      EXPECT_NE(awaited_error(ranks.comm(rank)), cerarSuccess);
    } else {
      ++hit;
      EXPECT_EQ(result, cerarSystemError);
      expect_words(cerarGetLastError(), words);
    }
    side.wait();
    EXPECT_NE(side.call(), cerarSuccess);
    expect_words(cerarGetLastError(), {"this communicator failed before"});
  });
  EXPECT_EQ(hit, 1);
}

TEST_F(Refusals, NcclCallsThatFail) {
  for (const char* function : {"ncclSend", "ncclRecv", "ncclGroupEnd", "ncclGroupStart"}) {
    const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
    fail_nccl(ranks, function, {"failed", "operating system failed", "NCCL_DEBUG=WARN", "number 1"});
  }
}

TEST_F(Refusals, NcclCallsThatDoNotReturn) {
  for (const auto& [function, before] : {std::pair{"ncclSend", 1}, {"ncclAllGather", 0}}) {
    SCOPED_TRACE(function);
    const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
    if (before) call_once(ranks);
    software_nccl_stall(function, 1);
    std::atomic<int> hit = 0;
    ranks.run([&](int rank) {
      const Side side(ranks, rank);
      const cerarResult_t result = side.call();
      EXPECT_EQ(awaited_error(ranks.comm(rank)), cerarTimeout);
      if (std::string(cerarGetLastError()).find("in NCCL for other ranks") != std::string::npos) {
        ++hit;
        EXPECT_EQ(result, cerarTimeout);
        expect_words(cerarGetLastError(), {"waited 300 ms"});
      }
      side.wait();
    });
    EXPECT_EQ(hit, 1);
  }
}

// Not the split of a communicator that blocks: the others then wait until its owner aborts it, see below.
TEST_F(Refusals, NcclFailsWhileCommunicatorsAreMade) {
  for (const char* function : {"ncclAllGather", "ncclCommSplit"})
    for (const Link link : {Link::nccl, Link::nccl_id}) {
      if (link == Link::nccl && std::string(function) == "ncclCommSplit") continue;
      SCOPED_TRACE(function + name_of(link));
      software_nccl_fail(function, 1, kNcclSystemError);
      EXPECT_THROW(DeviceRanks(link, plan_, 3, kTimeoutMs), std::exception);
      software_nccl_fail(function, 0, 0);
      expect_nothing_left();
    }
}

TEST_F(Refusals, ARankThatDoesNotMakeItsCommunicator) {
  for (const bool blocks : {true, false}) {
    SCOPED_TRACE(blocks);
    NcclUniqueId id{};
    ncclGetUniqueId(&id);
    std::vector<NcclComm> comms(3);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        CuContext context = nullptr;
        cuDevicePrimaryCtxRetain(&context, rank);
        cuCtxPushCurrent_v2(context);
        NcclComm& nccl = comms[static_cast<std::size_t>(rank)];
        NcclConfig config;
        config.blocking = blocks;
        NcclResult result = ncclCommInitRankConfig(&nccl, 3, id, rank, &config);
        while (result == kNcclInProgress) ncclCommGetAsyncError(nccl, &result);
        ASSERT_EQ(result, kNcclSuccess);
        if (rank < 2) {
          cerarComm_t comm = nullptr;
          expect_refused(cerarCommInitNccl(&comm, nccl, nullptr, kTimeoutMs), cerarTimeout,
                         {"rank " + std::to_string(rank), "split the communicator", "abort it"});
          EXPECT_EQ(comm, nullptr);
        }
        ncclCommAbort(nccl);
        cuDevicePrimaryCtxRelease_v2(rank);
      });
    threads.clear();
  }
  // The threads in which NCCL waited end by themselves.
  for (int i = 0; i < 1000 && software_nccl_communicators() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(Refusals, AsynchronousErrorsOfNcclAreReported) {
  const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
  software_nccl_async_error(1, kNcclRemoteError);
  ranks.run([&](int rank) {
    if (rank != 1) return;
    EXPECT_EQ(awaited_error(ranks.comm(rank)), cerarPeerFailed);
    expect_words(cerarGetLastError(), {"NCCL reports on rank 1", "remote process", "NCCL_DEBUG=WARN"});
    const Side side(ranks, rank);
    expect_refused(side.call(), cerarPeerFailed, {"this communicator failed before", "rank 1"});
  });
}

struct DriverFailure {
  const char* function;
  CuResult code;
  const char* words;
};

// The n-th call of a function of the driver's, from whatever rank it comes, fails in the all-reduce after
// `before` others: one rank says so, every rank hears of it, nobody hangs, nothing is left.
void fail_driver(Link link, const std::string& plan, const DriverFailure& failure, long long n, int before) {
  SCOPED_TRACE(std::string(failure.function) + ", call " + std::to_string(n) + ", " + name_of(link));
  {
    const DeviceRanks ranks(link, plan, 3, kTimeoutMs);
    std::atomic<int> hit = 0;
    std::vector<std::unique_ptr<Side>> sides(3);
    ranks.run([&](int rank) {
      sides[static_cast<std::size_t>(rank)] = std::make_unique<Side>(ranks, rank);
      for (int i = 0; i < before; ++i) require_success(sides[static_cast<std::size_t>(rank)]->call());
      sides[static_cast<std::size_t>(rank)]->wait();
    });
    software_gpu_fail(failure.function, n, failure.code);
    ranks.run([&](int rank) {
      const Side& side = *sides[static_cast<std::size_t>(rank)];
      const cerarResult_t result = side.call();
      if (result == cerarSystemError || result == cerarInvalidPlan) {
        ++hit;
        expect_words(cerarGetLastError(), {failure.words, "number " + std::to_string(before)});
      } else {
        EXPECT_NE(awaited_error(ranks.comm(rank)), cerarSuccess);
      }
      side.wait();
      EXPECT_NE(side.call(), cerarSuccess);
      expect_words(cerarGetLastError(), {"this communicator failed before"});
    });
    EXPECT_EQ(hit, 1);
    ranks.run([&](int rank) { sides[static_cast<std::size_t>(rank)].reset(); });
  }
  DeviceTest::expect_nothing_left();
}

TEST_F(Refusals, DriverCallsThatFailInTheFirstCall) {
  const DriverFailure failures[] = {{"cuMemAlloc_v2", kCuOutOfMemory, "bytes left for messages; use smaller"},
                                    {"cuModuleLoadData", kCuInvalidImage, "run cerar-tune with --arch sm_80"},
                                    {"cuModuleGetFunction", kCuNotFound, "lacks the kernel"},
                                    {"cuStreamCreateWithPriority", kCuUnknown, "creating a stream on device"},
                                    {"cuEventCreate", kCuUnknown, "creating an event on device"},
                                    {"cuLaunchKernel", kCuLaunchFailed, "launching a kernel failed"},
                                    {"cuStreamWaitEvent", kCuUnknown, "making a stream wait"}};
  for (const auto& failure : failures)
    for (const Link link : {Link::nccl, Link::peers}) fail_driver(link, plan_, failure, 1, 0);
}

TEST_F(Refusals, DriverCallsThatFailInASteadyCall) {
  const DriverFailure failures[] = {{"cuLaunchKernel", kCuLaunchFailed, "launching a kernel failed"},
                                    {"cuStreamWaitEvent", kCuUnknown, "making a stream wait"},
                                    {"cuEventRecord", kCuUnknown, "recording an event"},
                                    {"cuMemcpyPeerAsync", kCuIllegalAddress, "copying"}};
  for (const auto& failure : failures)
    for (const Link link : {Link::nccl, Link::peers}) {
      if (link == Link::nccl && std::string(failure.function) == "cuMemcpyPeerAsync") continue;
      for (const long long n : {1, 2, 5, 9}) fail_driver(link, plan_, failure, n, 2);
    }
}

TEST_F(Refusals, ADeviceThatFailsInASteadyCall) {
  for (const Link link : {Link::nccl, Link::peers}) {
    SCOPED_TRACE(name_of(link));
    const DeviceRanks ranks(link, plan_, 3, kTimeoutMs);
    call_once(ranks);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until no watch looks for the end of these
    std::atomic<int> hit = 0;
    software_gpu_fail("cuEventQuery", 1, kCuIllegalAddress);
    ranks.run([&](int rank) {
      const Side side(ranks, rank);
      // The watch of one rank looks first, during a call or after it; where the others have ended theirs by
      // then, they hear nothing.
      const cerarResult_t result = side.call();
      cerarResult_t error = cerarSuccess;
      for (int i = 0; i < 10000 && hit == 0 && error == cerarSuccess; ++i) {
        require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_TRUE(result == cerarSuccess || result == error) << result;
      if (error == cerarSystemError) {
        ++hit;
        expect_words(cerarGetLastError(), {"failed: ", "ILLEGAL_ADDRESS", "number 1", "started again"});
      }
      side.wait();
    });
    EXPECT_EQ(hit, 1);
  }
}

TEST_F(Refusals, ACubinThatChangedOnDisk) {
  const TemporaryDirectory directory;
  const auto copy = directory.path() / "plan";
  std::filesystem::copy(plan_, copy, std::filesystem::copy_options::recursive);
  const DeviceRanks ranks(Link::nccl, copy.string(), 3, kTimeoutMs);
  for (const auto& file : std::filesystem::directory_iterator(copy / "kernels"))
    if (file.path().extension() == ".cubin") std::ofstream(file.path(), std::ios::app) << "x";
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    expect_refused(
        side.call(), cerarInvalidPlan,
        {".sm_80.cubin has changed since the plan was loaded", "run cerar-tune again", "number 0"});
  });
}

}  // namespace
}  // namespace cerar::test
