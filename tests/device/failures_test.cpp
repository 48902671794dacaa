// What fails while ranks make communicators and call: every rank hears of it, nothing hangs, nothing is left.
#include <atomic>
#include <memory>

#include "runtime/measure/time_limit.h"
#include "tests/device/support/refusals.h"

namespace cerar::test {
namespace {

using namespace runtime;
using Failures = Refusals;

TEST_F(Failures, ARankThatNeverCalls) {
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

TEST_F(Failures, ARankThatStopsInTheMiddleIsNoticedAndStreamsGoOn) {
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

// Calls on several streams begin at once, and run one after the other: the time that a call waits for the one
// before it is not its own.
TEST_F(Failures, AClockStartsAtTheEndOfTheCallBefore) {
  constexpr int kLimitMs = 2000;
  constexpr auto kLate = std::chrono::milliseconds(1300);  // in time for each call, not for two
  const DeviceRanks ranks(Link::nccl, plan_, 3, kLimitMs);
  call_once(ranks);
  ranks.run([&](int rank) {
    const Side first(ranks, rank), second(ranks, rank);
    CuStream other = nullptr;
    require_driver(cuStreamCreate(&other, kCuStreamNonBlocking), "cuStreamCreate");
    second.wait();  // for the uploads
    if (rank == 1) std::this_thread::sleep_for(kLate);
    EXPECT_EQ(first.call(), cerarSuccess) << cerarGetLastError();
    if (rank == 1) std::this_thread::sleep_for(kLate);
    EXPECT_EQ(second.call(second.send.data(), second.receive.data(), other), cerarSuccess)
        << cerarGetLastError();
    require_driver(cuStreamSynchronize(other), "cuStreamSynchronize");
    first.wait();
    std::vector<float> sums(kCount);
    second.receive.download(sums.data(), ranks.stream(rank));
    EXPECT_EQ(sums, std::vector<float>(kCount, 3.0f));
    cerarResult_t error = cerarSuccess;
    require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
    EXPECT_EQ(error, cerarSuccess) << cerarGetLastError();
    require_driver(cuStreamDestroy_v2(other), "cuStreamDestroy");
  });
}

// Rank 0 waits for ranks that do not call, until another thread aborts.
TEST_F(Failures, AnAbortEndsACallThatWaitsAndEveryLaterOne) {
  for (const Link link : {Link::nccl, Link::peers}) {
    SCOPED_TRACE(name_of(link));
    const DeviceRanks ranks(link, plan_, 3, 60000);
    std::chrono::steady_clock::time_point begun, ended;
    ranks.run([&](int rank) {
      if (rank == 0) {
        const Side side(ranks, rank);
        cerarResult_t result;
        do result = side.call();
        while (result == cerarInvalidArgument);  // refused beside the question of rank 1
        ended = std::chrono::steady_clock::now();
        EXPECT_EQ(result, cerarAborted);
        expect_words(cerarGetLastError(), {"rank 0 aborted its communicator"});
        EXPECT_EQ(awaited_error(ranks.comm(0)), cerarAborted);
        EXPECT_EQ(side.call(), cerarAborted);
        side.wait();
      }
      if (rank == 1) {
        while (cerarCommPrepare(ranks.comm(0), 0, cerarFloat32, cerarSum) == cerarSuccess)
          std::this_thread::yield();
        expect_words(cerarGetLastError(), {"in use by another thread"});
        begun = std::chrono::steady_clock::now();
        EXPECT_EQ(cerarCommAbort(ranks.comm(0)), cerarSuccess);
      }
    });
    EXPECT_LT(ended - begun, std::chrono::seconds(5));
    ranks.run([&](int rank) {
      if (rank == 0) return;
      if (link == Link::nccl) {  // each process has to end its own
        EXPECT_EQ(cerarCommAbort(ranks.comm(rank)), cerarSuccess);
        return;
      }
      const Side side(ranks, rank);
      EXPECT_EQ(side.call(), cerarPeerFailed);
      expect_words(cerarGetLastError(), {"rank 0 aborted its communicator"});
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

TEST_F(Failures, NcclCallsThatFail) {
  for (const char* function : {"ncclSend", "ncclRecv", "ncclGroupEnd", "ncclGroupStart"}) {
    const DeviceRanks ranks(Link::nccl, plan_, 3, kTimeoutMs);
    fail_nccl(ranks, function, {"failed", "operating system failed", "NCCL_DEBUG=WARN", "number 1"});
  }
}

TEST_F(Failures, NcclCallsThatDoNotReturn) {
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
TEST_F(Failures, NcclFailsWhileCommunicatorsAreMade) {
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

TEST_F(Failures, ARankThatDoesNotMakeItsCommunicator) {
  for (const bool blocks : {true, false}) {
    SCOPED_TRACE(blocks);
    with_nccl(3, blocks, ncclCommAbort, [&](int rank, NcclComm nccl) {
      if (rank == 2) return;
      cerarComm_t comm = nullptr;
      expect_refused(cerarCommInitNccl(&comm, nccl, nullptr, TimeLimit(kTimeoutMs)), cerarTimeout,
                     {"rank " + std::to_string(rank), "split the communicator", "abort it"});
      EXPECT_EQ(comm, nullptr);
    });
  }
  // Until the threads in which NCCL waited have let go of their devices.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

TEST_F(Failures, AsynchronousErrorsOfNcclAreReported) {
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

// A rank whose own calls went well while another one failed: either it hears of that, or its call had ended
// by then, with the right sum, and it hears of it in the next one, which waits for the rank that failed.
void expect_to_hear(const DeviceRanks& ranks, int rank, const Side& side, cerarResult_t result) {
  side.wait();
  cerarResult_t error = result;
  if (result == cerarSuccess) require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
  if (error != cerarSuccess) return;
  std::vector<float> sums(side.count);
  side.receive.download(sums.data(), ranks.stream(rank));
  side.wait();
  // Asked again: what went wrong before the wait ended is known by now.
  require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
  if (error != cerarSuccess) return;
  EXPECT_EQ(sums, std::vector<float>(side.count, static_cast<float>(ranks.size())));
  if (side.call() == cerarSuccess) {
    EXPECT_NE(awaited_error(ranks.comm(rank)), cerarSuccess);
  }
  side.wait();
}

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
        expect_to_hear(ranks, rank, side, result);
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

TEST_F(Failures, DriverCallsThatFailInTheFirstCall) {
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

TEST_F(Failures, DriverCallsThatFailInASteadyCall) {
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

TEST_F(Failures, ADeviceThatFailsInASteadyCall) {
  for (const Link link : {Link::nccl, Link::peers}) {
    SCOPED_TRACE(name_of(link));
    const DeviceRanks ranks(link, plan_, 3, kTimeoutMs);
    call_once(ranks);
    std::atomic<int> hit = 0;
    software_gpu_fail("cuEventQuery", 1, kCuIllegalAddress);
    ranks.run([&](int rank) {
      const Side side(ranks, rank);
      // The watch of one rank asks first: for the call before, which it may not have seen end, during this
      // call, or after it. Where the others have ended theirs by then, they hear nothing.
      const cerarResult_t result = side.call();
      if (result != cerarSuccess) expect_words(cerarGetLastError(), {"all-reduce number "});
      cerarResult_t error = cerarSuccess;
      require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
      for (int i = 0; i < 10000 && hit == 0 && error == cerarSuccess; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        require_success(cerarCommGetAsyncError(ranks.comm(rank), &error));
      }
      if (error == cerarSystemError) {
        ++hit;
        expect_words(cerarGetLastError(), {"failed: ", "ILLEGAL_ADDRESS", "number ", "started again"});
      }
      EXPECT_TRUE(result == cerarSuccess || error != cerarSuccess) << result;
      side.wait();
    });
    EXPECT_EQ(hit, 1);
  }
}

}  // namespace
}  // namespace cerar::test
