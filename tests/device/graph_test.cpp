// All-reduces in CUDA graphs: captured once, replayed with other inputs.
#include <barrier>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "runtime/measure/measure.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_test.h"
#include "tests/device/support/vectors.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr int kReplays = 20;

class Graph {
 public:
  Graph(CuStream stream, const std::function<void()>& body, CuCaptureMode mode = kCuCaptureThreadLocal) {
    require_driver(cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture");
    body();
    CuGraph graph = nullptr;
    require_driver(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    const CuResult made = cuGraphInstantiateWithFlags(&exec_, graph, 0);
    cuGraphDestroy(graph);
    require_driver(made, "cuGraphInstantiate");
  }
  ~Graph() { cuGraphExecDestroy(exec_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(CuStream stream) const { require_driver(cuGraphLaunch(exec_, stream), "cuGraphLaunch"); }

 private:
  CuGraphExec exec_ = nullptr;
};

// One rank's two vectors on its device.
struct Buffers {
  Buffers(const DeviceRanks& all, int of, std::size_t elements, cerarDataType_t as)
      : ranks(all),
        rank(of),
        count(elements),
        type(as),
        send(count * runtime::element_bytes(type)),
        receive(count * runtime::element_bytes(type)) {}

  CuStream stream() const { return ranks.stream(rank); }

  void call(const DeviceVector& from, const DeviceVector& to) const {
    require_success(
        cerarAllReduce(from.data(), to.data(), count, type, cerarSum, ranks.comm(rank), stream()));
  }

  // Fills both, the result with what would be noticed, does it, and fetches the result.
  std::vector<float> result_of(const std::vector<float>& input, const std::function<void()>& what) const {
    const auto bytes = runtime::packed(type, input);
    const auto poison =
        runtime::packed(type, std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
    send.upload(bytes.data(), stream());
    receive.upload(poison.data(), stream());
    what();
    std::vector<std::byte> result(bytes.size());
    receive.download(result.data(), stream());
    return runtime::unpacked(type, result);
  }

  const DeviceRanks& ranks;
  int rank;
  std::size_t count;
  cerarDataType_t type;
  DeviceVector send, receive;
};

// A call that is refused with a sentence of these words.
void expect_refused(const Buffers& b, const DeviceVector& from, const DeviceVector& to,
                    cerarResult_t expected, const std::vector<std::string>& words) {
  EXPECT_EQ(
      cerarAllReduce(from.data(), to.data(), b.count, b.type, cerarSum, b.ranks.comm(b.rank), b.stream()),
      expected);
  const std::string sentence = cerarGetLastError();
  for (const auto& word : words) EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
}

void prepare(const DeviceRanks& ranks, int rank, std::size_t count, cerarDataType_t type = cerarFloat32) {
  require_success(cerarCommPrepare(ranks.comm(rank), count, type, cerarSum));
}

using Captured = std::function<void(const Buffers&)>;
using Checked = std::function<void(const Vectors& inputs, const Vectors& results)>;

void out_of_place(const Buffers& b) { b.call(b.send, b.receive); }
void one_after_the_other(const Buffers& b) {
  b.call(b.send, b.receive);
  b.call(b.receive, b.receive);
}

// Captures `body` on every rank, replays it with other inputs each time and has every result checked.
void replay(const DeviceRanks& ranks, std::size_t count, cerarDataType_t type, Input kind,
            const Captured& body, const Checked& check) {
  const int size = ranks.size();
  std::vector<Vectors> given, found(kReplays, Vectors(static_cast<std::size_t>(size)));
  for (int i = 0; i < kReplays; ++i)
    given.push_back(inputs(size, count, kind, static_cast<std::uint64_t>(i + 1)));
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers buffers(ranks, rank, count, type);
    prepare(ranks, rank, count, type);
    const Graph graph(buffers.stream(), [&] { body(buffers); });
    for (std::size_t i = 0; i < kReplays; ++i)
      found[i][r] = buffers.result_of(given[i][r], [&] { graph.launch(buffers.stream()); });
  });
  for (std::size_t i = 0; i < kReplays; ++i) {
    SCOPED_TRACE("replay " + std::to_string(i));
    check(given[i], found[i]);
  }
}

Checked exact(double factor = 1) {
  return [factor](const Vectors& given, const Vectors& found) { expect_exact_sums(given, found, factor); };
}

class Graphs : public DeviceTest {
 protected:
  const std::string& ring() const {
    static const std::string plan = device_plan(Construction::ring, 3, 3);
    return use(plan);
  }
  const std::string& differential() const {
    static const std::string plan = device_plan(Construction::differential, 3, 9);
    return use(plan);
  }

 private:
  static const std::string& use(const std::string& plan) {
    software_gpu_use(plan.c_str());
    return plan;
  }
};

TEST_F(Graphs, OneExactAllReduce) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  replay(ranks, 3 * 700 + 2, cerarFloat32, Input::integers, out_of_place, exact());
}

TEST_F(Graphs, TwoAllReducesInOneGraph) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  replay(ranks, 3 * 700 + 2, cerarFloat32, Input::integers, one_after_the_other, exact(3));
}

TEST_F(Graphs, AnApproximateCode) {
  const DeviceRanks ranks(Link::nccl, differential(), 3);
  double claim = 0;
  replay(
      ranks, 9 * 500 + 4, cerarFloat32, Input::normal,
      [&](const Buffers& b) {
        out_of_place(b);
        if (b.rank == 0) claim = last_call(ranks).claimed_error;
      },
      [&](const Vectors& given, const Vectors& found) {
        const double error = relative_error(given, found);
        EXPECT_GT(error, 0.5 * claim);
        EXPECT_LT(error, 1.2 * claim);
      });
}

TEST_F(Graphs, VectorsOf16Bits) {
  for (const cerarDataType_t type : {cerarBfloat16, cerarFloat16}) {
    const DeviceRanks ranks(Link::nccl, ring(), 3);
    replay(ranks, 3 * 700 + 1, type, Input::integers, out_of_place, exact());
  }
}

TEST_F(Graphs, NcclsOwnAllReduce) {
  const DeviceRanks ranks(Link::nccl, "", 3);
  replay(ranks, 1000, cerarFloat32, Input::integers, out_of_place, exact());
}

TEST_F(Graphs, CallsUnderWayDoNotSpoilACaptureThatForbidsAllThreadsToWait) {
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

TEST_F(Graphs, WithoutPreparationACaptureIsToldToPrepareAndStaysUsable) {
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

TEST_F(Graphs, VectorsThatNeedMoreRoomThanPreparedAreToldSo) {
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

TEST_F(Graphs, PeerCopiesRefuseCaptures) {
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

TEST_F(Graphs, SpoiltCapturesAreReported) {
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

TEST_F(Graphs, LargerCallsLeaveOldGraphsReplayable) {
  const DeviceRanks ranks(Link::nccl, differential(), 3);
  constexpr std::size_t kSmall = 9 * 300 + 1, kLarge = 9 * 4000 + 7;
  const Vectors small = inputs(3, kSmall), large = inputs(3, kLarge);
  Vectors eager(3), replayed(3);
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers before(ranks, rank, kSmall, cerarFloat32), after(ranks, rank, kLarge, cerarFloat32);
    prepare(ranks, rank, kSmall);
    const Graph graph(before.stream(), [&] { out_of_place(before); });
    prepare(ranks, rank, kLarge);
    eager[r] = after.result_of(large[r], [&] { out_of_place(after); });
    replayed[r] = before.result_of(small[r], [&] { graph.launch(before.stream()); });
  });
  const double claim = last_call(ranks).claimed_error;
  EXPECT_LT(relative_error(large, eager), 1.2 * claim);
  EXPECT_LT(relative_error(small, replayed), 1.2 * claim);
}

TEST_F(Graphs, EagerCallsAndReplaysAlternateOnOneStream) {
  const DeviceRanks ranks(Link::nccl, ring(), 3);
  constexpr int kTurns = 10;
  std::vector<Vectors> given, found(kTurns, Vectors(3));
  for (int i = 0; i < kTurns; ++i)
    given.push_back(inputs(3, 5000, Input::integers, static_cast<std::uint64_t>(i + 1)));
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Buffers buffers(ranks, rank, 5000, cerarFloat32);
    prepare(ranks, rank, 5000);
    const Graph graph(buffers.stream(), [&] { out_of_place(buffers); });
    // Nobody waits in between: the results are fetched by the stream, and the next inputs come behind them.
    std::vector<std::vector<float>> results(kTurns, std::vector<float>(5000));
    for (std::size_t i = 0; i < kTurns; ++i) {
      buffers.send.upload(given[i][r].data(), buffers.stream());
      if (i % 2)
        out_of_place(buffers);
      else
        graph.launch(buffers.stream());
      require_driver(
          cuMemcpyDtoHAsync_v2(results[i].data(), reinterpret_cast<std::uintptr_t>(buffers.receive.data()),
                               5000 * sizeof(float), buffers.stream()),
          "cuMemcpyDtoHAsync");
    }
    require_driver(cuStreamSynchronize(buffers.stream()), "cuStreamSynchronize");
    for (std::size_t i = 0; i < kTurns; ++i) found[i][r] = results[i];
  });
  for (std::size_t i = 0; i < kTurns; ++i) {
    SCOPED_TRACE("turn " + std::to_string(i));
    expect_exact_sums(given[i], found[i]);
  }
}

}  // namespace
}  // namespace cerar::test
