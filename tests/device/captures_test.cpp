// What captures forbid, and what they are told.
#include <barrier>
#include <memory>
#include <optional>
#include <thread>

#include "tests/device/support/graphs.h"
#include "tests/device/support/vectors.h"
#include "tests/software_gpu/software_nccl.h"

namespace cerar::test {
namespace {

using namespace runtime;

using Captures = Graphs;

// A call that is refused with a sentence of these words.
void expect_refused(const Buffers& b, const DeviceVector& from, const DeviceVector& to,
                    cerarResult_t expected, const std::vector<std::string>& words,
                    CuStream stream = nullptr) {
  EXPECT_EQ(cerarAllReduce(from.data(), to.data(), b.count, b.type, cerarSum, b.ranks.comm(b.rank),
                           stream ? stream : b.stream()),
            expected);
  const std::string sentence = cerarGetLastError();
  for (const auto& word : words) EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
}

TEST_F(Captures, CallsUnderWayDoNotSpoilACaptureThatForbidsAllThreadsToWait) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  const Vectors given = inputs(3, 3000, Input::integers);
  Vectors found(3);
  software_gpu_delays(3000, 5);  // the call before is still watched while the capture lasts
  std::barrier<> together(3);    // what prepares and waits is forbidden while another thread captures
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers buffers(ranks, rank, 3000, cerarFloat32);
    prepare(ranks, rank, 3000);
    together.arrive_and_wait();
    out_of_place(buffers);
    const Graph graph(
        buffers.stream(),
        [&] {
          out_of_place(buffers);
          std::this_thread::sleep_for(std::chrono::milliseconds(60));
        },
        kCuCaptureGlobal);
    together.arrive_and_wait();
    found[r] = buffers.result_of(given[r], [&] { graph.launch(buffers.stream()); });
  });
  expect_exact_sums(given, found);
}

TEST_F(Captures, WithoutPreparationACaptureIsToldToPrepareAndStaysUsable) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  const Vectors given = inputs(3, 3000, Input::integers);
  Vectors found(3);
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers buffers(ranks, rank, 3000, cerarFloat32);
    const auto refused = [&] {
      expect_refused(buffers, buffers.send, buffers.receive, cerarInvalidArgument,
                     {"3000 elements of f32", "cerarCommPrepare"});
    };
    const Graph empty(buffers.stream(), refused);
    prepare(ranks, rank, 3000);
    const Graph graph(buffers.stream(), [&] { out_of_place(buffers); });
    found[r] = buffers.result_of(given[r], [&] { graph.launch(buffers.stream()); });
  });
  expect_exact_sums(given, found);
}

TEST_F(Captures, VectorsThatNeedMoreRoomThanPreparedAreToldSo) {
  const std::string plan = device_plan(Construction::ring, 3, 3, 2, Wire::fx16);
  const DeviceRanks ranks(Link::nccl, plan, 3);
  constexpr std::size_t kCount = 3 * 1024;
  const Vectors given = inputs(3, kCount);
  Vectors found(3);
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers aligned(ranks, rank, kCount, cerarFloat32);
    const DeviceVector unaligned(kCount * sizeof(float), 4);
    prepare(ranks, rank, kCount);
    const Graph empty(aligned.stream(), [&] {
      expect_refused(aligned, unaligned, unaligned, cerarInvalidArgument, {"16 bytes", "before the capture"});
    });
    aligned.call(unaligned, unaligned);  // as the sentence says
    const Graph graph(aligned.stream(), [&] { aligned.call(unaligned, unaligned); });
    found[r] = aligned.result_of(given[r], [&] {
      require_driver(cuMemcpyDtoDAsync_v2(reinterpret_cast<std::uintptr_t>(unaligned.data()),
                                          reinterpret_cast<std::uintptr_t>(aligned.send.data()),
                                          kCount * sizeof(float), aligned.stream()),
                     "cuMemcpyDtoDAsync");
      graph.launch(aligned.stream());
      require_driver(cuMemcpyDtoDAsync_v2(reinterpret_cast<std::uintptr_t>(aligned.receive.data()),
                                          reinterpret_cast<std::uintptr_t>(unaligned.data()),
                                          kCount * sizeof(float), aligned.stream()),
                     "cuMemcpyDtoDAsync");
    });
  });
  EXPECT_LT(relative_error(given, found), 1.2 * last_call(ranks).claimed_error);
}

TEST_F(Captures, PeerCopiesRefuseCaptures) {
  for (const Link link : {Link::peers, Link::one_gpu}) {
    const DeviceRanks ranks(link, ring(), 3);
    const Vectors given = inputs(3, 3000, Input::integers);
    Vectors found(3);
    ranks.run([&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Buffers buffers(ranks, rank, 3000, cerarFloat32);
      prepare(ranks, rank, 3000);
      const Graph empty(buffers.stream(), [&] {
        expect_refused(buffers, buffers.send, buffers.receive, cerarUnsupported,
                       {"captured", "outside the capture"});
      });
      found[r] = buffers.result_of(given[r], [&] { out_of_place(buffers); });
    });
    expect_exact_sums(given, found);
  }
}

TEST_F(Captures, SpoiltCapturesAreReported) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  ranks.run([&](int rank) {
    const Buffers buffers(ranks, rank, 3000, cerarFloat32);
    prepare(ranks, rank, 3000);
    require_driver(cuStreamBeginCapture_v2(buffers.stream(), kCuCaptureThreadLocal), "cuStreamBeginCapture");
    EXPECT_NE(cuStreamSynchronize(buffers.stream()), kCuSuccess);
    expect_refused(buffers, buffers.send, buffers.receive, cerarInvalidArgument,
                   {"capture of the stream has failed", "end it"});
    CuGraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(buffers.stream(), &graph), kCuCaptureInvalidated);
    out_of_place(buffers);
    require_driver(cuStreamSynchronize(buffers.stream()), "cuStreamSynchronize");
  });
}

TEST_F(Captures, CallsBesideAnOpenOneAreRefusedAndDoNotSpoilIt) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  const Vectors given = inputs(3, 3000, Input::integers);
  Vectors replayed(3), eager(3);
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers buffers(ranks, rank, 3000, cerarFloat32);
    CuStream other = nullptr;
    require_driver(cuStreamCreate(&other, kCuStreamNonBlocking), "cuStreamCreate");
    prepare(ranks, rank, 3000);
    const auto refused = [&] {
      expect_refused(buffers, buffers.send, buffers.receive, cerarInvalidArgument,
                     {"a capture that has not ended", "end it before"}, other);
    };
    const Graph graph(buffers.stream(), [&] {
      out_of_place(buffers);
      refused();
      const Graph second(other, refused);
      buffers.call(buffers.receive, buffers.receive);  // another one of the same capture
    });
    replayed[r] = buffers.result_of(given[r], [&] { graph.launch(buffers.stream()); });
    eager[r] = buffers.result_of(given[r], [&] { out_of_place(buffers); });
    cuStreamDestroy_v2(other);
  });
  expect_exact_sums(given, replayed, 3);
  expect_exact_sums(given, eager);
}

TEST_F(Captures, PreparingAndDestroyingDoNotSpoilThoseOfOtherThreadsThatForbidAllToWait) {
  std::optional<DeviceRanks> ranks(std::in_place, Link::nccl, ring(), 3);
  const Vectors given = inputs(3, 3000, Input::integers);
  Vectors found(3);
  std::vector<std::unique_ptr<Buffers>> buffers(3);
  std::vector<cerarComm_t> others(3);
  cerarNcclId_t id;
  require_success(cerarGetNcclId(&id));
  ranks->run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    buffers[r] = std::make_unique<Buffers>(*ranks, rank, 3000, cerarFloat32);
    require_success(cerarCommInitNcclId(&others[r], &id, rank, 3, ranks->device(rank), nullptr, nullptr));
  });
  std::barrier<> step(2);
  std::jthread capturing([&] {
    CuContext context = nullptr;
    CuStream stream = nullptr;
    cuDevicePrimaryCtxRetain(&context, 3);
    cuCtxPushCurrent_v2(context);
    EXPECT_EQ(cuStreamCreate(&stream, kCuStreamNonBlocking), kCuSuccess);
    EXPECT_EQ(cuStreamBeginCapture_v2(stream, kCuCaptureGlobal), kCuSuccess);
    step.arrive_and_wait();
    step.arrive_and_wait();
    CuGraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), kCuSuccess);
    cuGraphDestroy(graph);
    cuStreamDestroy_v2(stream);
    cuDevicePrimaryCtxRelease_v2(3);
  });
  step.arrive_and_wait();  // the capture is open
  // The second time it takes more memory.
  for (const std::size_t count : {3000u, 30000u})
    EXPECT_NO_THROW(ranks->run([&](int rank) { prepare(*ranks, rank, count); }));
  ranks->run([&](int rank) { cerarCommDestroy(others[static_cast<std::size_t>(rank)]); });
  step.arrive_and_wait();  // and ends without an error
  capturing.join();
  ranks->run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    found[r] = buffers[r]->result_of(given[r], [&] { out_of_place(*buffers[r]); });
    buffers[r].reset();
  });
  ranks.reset();
  expect_exact_sums(given, found);
}

}  // namespace
}  // namespace cerar::test
