#include <bit>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/software_gpu/check/device.h"
#include "tests/software_gpu/software_nccl.h"

namespace software_gpu_test {
namespace {

using namespace std::chrono_literals;

#define NCCL(call) ASSERT_EQ(call, kNcclSuccess)

constexpr std::size_t kElements = 1000;

/// One thread, device and stream per rank.
class Nccl : public DeviceTest {
 protected:
  struct Rank {
    int rank, ranks;
    CuContext context;
    CuStream stream;
    NcclComm comm;
    CuAddress in, out;  // `in` holds rank + 1
  };
  void TearDown() override {
    software_nccl_reset();
    DeviceTest::TearDown();
  }
  void start(Rank& self, int rank, int ranks, const NcclUniqueId& id, int device) {
    self.rank = rank;
    self.ranks = ranks;
    CU(cuDevicePrimaryCtxRetain(&self.context, device));
    CU(cuCtxPushCurrent_v2(self.context));
    self.stream = stream();
    self.in = allocate(kElements);
    self.out = allocate(4 * kElements);
    put(self.in, std::vector<float>(kElements, static_cast<float>(rank + 1)), self.stream);
    NCCL(ncclCommInitRank(&self.comm, ranks, id, rank));
  }
  void ranks(int count, const std::function<void(Rank&)>& body) {
    NcclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        Rank self{};
        ASSERT_NO_FATAL_FAILURE(start(self, rank, count, id, rank));
        body(self);
      });
    for (auto& thread : threads) thread.join();
  }
  static float* at(CuAddress address) { return reinterpret_cast<float*>(address); }
  /// Everyone sends `from` to the next rank and receives `to` from the previous one.
  void shift(const Rank& self, CuAddress from, CuAddress to) {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(at(from), kElements, kNcclFloat32, (self.rank + 1) % self.ranks, self.comm, self.stream));
    NCCL(ncclRecv(at(to), kElements, kNcclFloat32, (self.rank + self.ranks - 1) % self.ranks, self.comm,
                  self.stream));
    NCCL(ncclGroupEnd());
  }
  static float previous(const Rank& self) {
    return static_cast<float>((self.rank + self.ranks - 1) % self.ranks + 1);
  }
};

TEST_F(Nccl, shifts_around_a_ring) {
  ranks(3, [&](Rank& self) {
    for (int i = 0; i < 5; ++i) shift(self, self.in, self.out);
    EXPECT_EQ(get(self.out, kElements, self.stream), std::vector<float>(kElements, previous(self)));
    NCCL(ncclCommDestroy(self.comm));
  });
  EXPECT_EQ(software_nccl_communicators(), 0);
}

// What programs get wrong with registered memory is said, and counted.
TEST_F(Nccl, finds_memory_registered_in_the_wrong_order) {
  ranks(1, [&](Rank& self) {
    void *memory = nullptr, *handle = nullptr;
    NCCL(ncclMemAlloc(&memory, 1 << 16));
    EXPECT_EQ(cuMemFree_v2(reinterpret_cast<CuAddress>(memory)), kCuInvalidValue) << "not the driver's";
    NCCL(ncclCommRegister(self.comm, memory, 1 << 16, &handle));
    EXPECT_EQ(software_nccl_registrations(), 1);
    EXPECT_EQ(ncclMemFree(memory), kNcclInvalidUsage);
    NCCL(ncclCommDeregister(self.comm, handle));
    EXPECT_EQ(ncclCommDeregister(self.comm, handle), kNcclInvalidUsage);
    NCCL(ncclCommRegister(self.comm, memory, 1 << 16, &handle));
    NCCL(ncclCommDestroy(self.comm));
    EXPECT_EQ(ncclCommDeregister(self.comm, handle), kNcclInvalidUsage);
    EXPECT_EQ(software_nccl_misuses(), 4);
    NCCL(ncclMemFree(memory));
    EXPECT_EQ(ncclMemFree(memory), kNcclInvalidArgument);
    EXPECT_EQ(software_nccl_registrations(), 0);
  });
}

// Two communicators on a device, in another order on the other rank: a GPU may hang.
TEST_F(Nccl, counts_work_of_communicators_that_overlaps) {
  NcclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  ranks(2, [&](Rank& self) {
    NcclComm other = nullptr;
    NCCL(ncclCommInitRank(&other, 2, id, self.rank));
    const CuStream aside = stream();
    const CuStream first = self.rank ? aside : self.stream;
    const auto reduce = [&](NcclComm comm, CuStream on, CuAddress vector) {
      NCCL(ncclAllReduce(at(vector), at(vector), kElements, kNcclFloat32, kNcclSum, comm, on));
      if (on == first) std::this_thread::sleep_for(20ms);
    };
    if (self.rank) reduce(other, aside, self.out);
    reduce(self.comm, self.stream, self.in);
    if (!self.rank) reduce(other, aside, self.out);
    CU(cuStreamSynchronize(self.stream));
    CU(cuStreamSynchronize(aside));
    NCCL(ncclCommDestroy(other));
    NCCL(ncclCommDestroy(self.comm));
  });
  EXPECT_GT(software_nccl_overlaps(), 0);
}

TEST_F(Nccl, reduces_and_gathers) {
  ranks(3, [&](Rank& self) {
    NCCL(ncclAllReduce(at(self.in), at(self.in), kElements, kNcclFloat32, kNcclAverage, self.comm,
                       self.stream));
    NCCL(ncclAllGather(at(self.in), at(self.out), kElements, kNcclFloat32, self.comm, self.stream));
    EXPECT_EQ(get(self.out, 3 * kElements, self.stream), std::vector<float>(3 * kElements, 2));
    // 1.0 in bf16, two to a word
    CU(cuMemsetD32Async(self.in, 0x3f803f80, kElements, self.stream));
    NCCL(ncclAllReduce(at(self.in), at(self.out), 2 * kElements, kNcclBfloat16, kNcclSum, self.comm,
                       self.stream));
    EXPECT_EQ(std::bit_cast<unsigned>(get(self.out, 1, self.stream)[0]), 0x40404040u);  // 3.0
    NCCL(ncclCommDestroy(self.comm));
  });
}

TEST_F(Nccl, groups_of_one_communicator_are_ordered_over_streams) {
  ranks(2, [&](Rank& self) {
    const CuStream other = stream();
    shift(self, self.in, self.out);
    // Reads what the group before wrote, on another stream.
    Rank second = self;
    second.stream = other;
    shift(second, self.out, self.in);
    EXPECT_EQ(get(self.in, kElements, other),
              std::vector<float>(kElements, static_cast<float>(self.rank + 1)));
    CU(cuStreamSynchronize(self.stream));
    NCCL(ncclCommDestroy(self.comm));
  });
}

TEST_F(Nccl, is_captured_and_replayed) {
  ranks(3, [&](Rank& self) {
    CuGraph graph;
    CuGraphExec exec;
    CU(cuStreamBeginCapture_v2(self.stream, kCuCaptureThreadLocal));
    shift(self, self.in, self.out);
    NCCL(
        ncclAllReduce(at(self.out), at(self.out), kElements, kNcclFloat32, kNcclSum, self.comm, self.stream));
    CU(cuStreamEndCapture(self.stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (const float factor : {1.f, 2.f}) {
      put(self.in, std::vector<float>(kElements, factor * static_cast<float>(self.rank + 1)), self.stream);
      CU(cuGraphLaunch(exec, self.stream));
      EXPECT_EQ(get(self.out, kElements, self.stream), std::vector<float>(kElements, 6 * factor));
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    NCCL(ncclCommDestroy(self.comm));
  });
}

TEST_F(Nccl, abort_ends_a_blocked_receive) {
  ranks(2, [&](Rank& self) {
    if (self.rank == 0) {
      NCCL(ncclRecv(at(self.out), kElements, kNcclFloat32, 1, self.comm, self.stream));
      std::this_thread::sleep_for(20ms);
      EXPECT_EQ(cuStreamQuery(self.stream), kCuNotReady);
      std::thread aborts([&] {
        std::this_thread::sleep_for(20ms);
        EXPECT_EQ(ncclCommAbort(self.comm), kNcclSuccess);
      });
      CU(cuStreamSynchronize(self.stream));
      aborts.join();
    } else {
      NCCL(ncclCommAbort(self.comm));
    }
  });
  EXPECT_EQ(software_nccl_communicators(), 0);
}

TEST_F(Nccl, counts_that_differ_hang_until_aborted) {
  ranks(2, [&](Rank& self) {
    if (self.rank == 0) {
      NCCL(ncclSend(at(self.in), kElements, kNcclFloat32, 1, self.comm, self.stream));
    } else {
      NCCL(ncclRecv(at(self.out), kElements / 2, kNcclFloat32, 0, self.comm, self.stream));
    }
    std::this_thread::sleep_for(30ms);
    EXPECT_EQ(cuStreamQuery(self.stream), kCuNotReady);
    NCCL(ncclCommAbort(self.comm));
    CU(cuStreamSynchronize(self.stream));
  });
}

TEST_F(Nccl, splits_by_color_and_key) {
  ranks(4, [&](Rank& self) {
    NcclComm half;
    NCCL(ncclCommSplit(self.comm, self.rank % 2, -self.rank, &half, nullptr));
    int count = 0, rank = -1, device = -1;
    NCCL(ncclCommCount(half, &count));
    NCCL(ncclCommUserRank(half, &rank));
    NCCL(ncclCommCuDevice(half, &device));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(rank, self.rank < 2 ? 1 : 0);  // keys fall
    EXPECT_EQ(device, self.rank);
    NCCL(ncclAllReduce(at(self.in), at(self.out), kElements, kNcclFloat32, kNcclSum, half, self.stream));
    EXPECT_EQ(get(self.out, kElements, self.stream),
              std::vector<float>(kElements, static_cast<float>(2 * (self.rank % 2) + 4)));
    NcclComm none;
    NCCL(ncclCommSplit(self.comm, self.rank == 0 ? -1 : 0, 0, &none, nullptr));
    EXPECT_EQ(none == nullptr, self.rank == 0);
    if (none) {
      NCCL(ncclCommDestroy(none));
    }
    NCCL(ncclCommDestroy(half));
    NCCL(ncclCommDestroy(self.comm));
  });
  EXPECT_EQ(software_nccl_communicators(), 0);
}

TEST_F(Nccl, without_blocking_is_polled) {
  NcclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  NcclConfig config;
  config.blocking = 0;
  NcclComm comms[2];
  ASSERT_EQ(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), kNcclInProgress);
  NcclResult state;
  NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, kNcclInProgress);
  int count;
  EXPECT_EQ(ncclCommCount(comms[0], &count), kNcclInvalidArgument);
  CuContext second;
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  CU(cuCtxPushCurrent_v2(second));
  ASSERT_EQ(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), kNcclInProgress);
  CU(cuCtxPopCurrent_v2(nullptr));
  NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, kNcclSuccess);
  // A group is under way until it has been polled.
  const CuStream on = stream();
  const CuAddress buffer = allocate(kElements);
  ASSERT_EQ(ncclRecv(at(buffer), kElements, kNcclFloat32, 1, comms[0], on), kNcclInProgress);
  NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, kNcclInProgress);
  EXPECT_EQ(cuStreamQuery(on), kCuSuccess);
  NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, kNcclSuccess);
  EXPECT_EQ(cuStreamQuery(on), kCuNotReady);
  software_nccl_async_error(0, kNcclRemoteError);
  NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, kNcclRemoteError);
  EXPECT_EQ(software_nccl_communicators(), 2);
  for (const NcclComm comm : comms) NCCL(ncclCommAbort(comm));
  CU(cuStreamSynchronize(on));
}

TEST_F(Nccl, refuses_two_ranks_on_one_device) {
  NcclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  NcclResult other = kNcclSuccess;
  std::thread thread([&] {
    cuCtxPushCurrent_v2(context_);
    NcclComm comm;
    other = ncclCommInitRank(&comm, 2, id, 1);
  });
  NcclComm comm;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), kNcclInvalidUsage);
  thread.join();
  EXPECT_EQ(other, kNcclInvalidUsage);
  software_nccl_fail("ncclGetUniqueId", 1, kNcclSystemError);
  EXPECT_EQ(ncclGetUniqueId(&id), kNcclSystemError);
  EXPECT_EQ(software_nccl_communicators(), 0);
}

}  // namespace
}  // namespace software_gpu_test
