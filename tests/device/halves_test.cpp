// Vectors in 16 bits: accumulated in f32, rounded once, whatever their alignment and length.
#include <cmath>
#include <string>

#include "runtime/measure/measure.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_test.h"
#include "tests/device/support/vectors.h"

namespace cerar::test {
namespace {

using namespace runtime;

// One all-reduce of vectors that are rounded to `type` first; `vectors` becomes what was rounded.
Vectors reduced(const DeviceRanks& ranks, Vectors& vectors, cerarDataType_t type, bool in_place,
                cerarRedOp_t op, std::uint64_t skip) {
  Vectors results(vectors.size());
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto bytes = runtime::packed(type, vectors[r]);
    vectors[r] = runtime::unpacked(type, bytes);
    const std::vector<std::byte> poison(bytes.size(), std::byte{0xff});
    const DeviceVector send(bytes.size(), skip), other(bytes.size(), skip);
    const DeviceVector& receive = in_place ? send : other;
    const CuStream stream = ranks.stream(rank);
    other.upload(poison.data(), stream);
    send.upload(bytes.data(), stream);
    require_success(
        cerarAllReduce(send.data(), receive.data(), vectors[r].size(), type, op, ranks.comm(rank), stream));
    std::vector<std::byte> result(bytes.size());
    receive.download(result.data(), stream);
    results[r] = runtime::unpacked(type, result);
  });
  return results;
}

// rms of rounding to nearest, relative: at most a unit in the last place over the square root of 12.
double rounding(cerarDataType_t type) {
  return std::ldexp(1.0, type == cerarFloat16 ? -10 : -7) / std::sqrt(12.0);
}

class Halves : public DeviceTest {};

TEST_F(Halves, ExactSumsAreRoundedOnce) {
  const std::string plan = device_plan(Construction::ring, 3, 3);
  for (const Link link : {Link::nccl, Link::one_gpu}) {
    const DeviceRanks ranks(link, plan, 3);
    for (const cerarDataType_t type : {cerarBfloat16, cerarFloat16})
      for (const bool in_place : {false, true})
        for (const std::uint64_t skip : {0u, 2u, 6u})
          for (const std::size_t count : {std::size_t{1}, std::size_t{4099}}) {
            SCOPED_TRACE(name_of(link) + ", type " + std::to_string(type) + ", skip " + std::to_string(skip));
            Vectors vectors = inputs(3, count, Input::integers);
            expect_exact_sums(vectors, reduced(ranks, vectors, type, in_place, cerarSum, skip));
          }
  }
}

TEST_F(Halves, ApproximateCodesKeepTheirClaim) {
  const DeviceRanks ranks(Link::nccl, device_plan(Construction::differential, 3, 9), 3);
  for (const cerarDataType_t type : {cerarBfloat16, cerarFloat16})
    for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
      Vectors vectors = inputs(3, 9 * 500 + 5);
      const Vectors results = reduced(ranks, vectors, type, op == cerarSum, op, 2);
      const double claim = last_call(ranks).claimed_error;
      EXPECT_LT(relative_error(vectors, results, op == cerarAverage),
                1.2 * std::hypot(claim, rounding(type)));
    }
}

TEST_F(Halves, AveragesOfLargeValuesDoNotOverflow) {
  const DeviceRanks ranks(Link::nccl, device_plan(Construction::ring, 3, 3), 3);
  Vectors vectors(3, std::vector<float>(1000, 60000.0f));
  for (const auto& result : reduced(ranks, vectors, cerarFloat16, false, cerarAverage, 0))
    for (const float value : result) ASSERT_EQ(value, vectors[0][0]);
  for (const auto& result : reduced(ranks, vectors, cerarFloat16, false, cerarSum, 0))
    for (const float value : result) ASSERT_TRUE(std::isinf(value));
}

TEST_F(Halves, LongVectorsAreWorkedOnInPieces) {
  const DeviceRanks ranks(Link::nccl, device_plan(Construction::ring, 3, 3), 3);
  software_gpu_delays(0, 1);
  constexpr std::size_t kCount = (16 << 20) + 3 * 1024 + 1;  // above 64 MiB in f32
  Vectors vectors = inputs(3, kCount, Input::integers);
  expect_exact_sums(vectors, reduced(ranks, vectors, cerarBfloat16, true, cerarSum, 0));
  const cerarCallInfo_t info = last_call(ranks);
  EXPECT_EQ(info.lanes, 2);
  EXPECT_EQ(info.messages, 4u * 4);  // two pieces to a lane, of four messages each
}

}  // namespace
}  // namespace cerar::test
