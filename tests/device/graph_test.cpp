// All-reduces in CUDA graphs: captured once, replayed with other inputs.
#include <functional>
#include <string>

#include "runtime/measure/measure.h"
#include "tests/device/support/graphs.h"
#include "tests/device/support/vectors.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr int kReplays = 20;

using Captured = std::function<void(const Buffers&)>;
using Checked = std::function<void(const Vectors& inputs, const Vectors& results)>;

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
