#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/measure/call_vectors.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_ranks.h"
#include "tests/device/support/device_test.h"
#include "tests/software_gpu/software_nccl.h"

namespace cerar::test {

constexpr int kTimeoutMs = 300;
constexpr std::size_t kCount = 3000;

/// Expects one sentence with all of these words.
inline void expect_words(const std::string& sentence, const std::vector<std::string>& words) {
  for (const auto& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << word << " in " << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  EXPECT_TRUE(!sentence.empty() && sentence.back() == '.') << sentence;
}

/// Expects an error of a call just made.
inline void expect_refused(cerarResult_t result, cerarResult_t expected,
                           const std::vector<std::string>& words) {
  EXPECT_EQ(result, expected) << cerarGetLastError();
  expect_words(cerarGetLastError(), words);
}

/// A stream and two vectors of one rank, and calls on them.
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
  void wait() const {
    require_driver(runtime::cuStreamSynchronize(ranks.stream(rank)), "cuStreamSynchronize");
  }

  const DeviceRanks& ranks;
  int rank;
  std::size_t count;
  DeviceVector send, receive;
};

/// A call of every rank, after which calls are steady.
inline void call_once(const DeviceRanks& ranks) {
  ranks.run([&](int rank) {
    const Side side(ranks, rank);
    runtime::require_success(side.call());
    side.wait();
  });
}

/// Waits until the communicator knows of a failure; it must within some time.
inline cerarResult_t awaited_error(cerarComm_t comm) {
  cerarResult_t error = cerarSuccess;
  for (int i = 0; i < 10000 && error == cerarSuccess; ++i) {
    runtime::require_success(cerarCommGetAsyncError(comm, &error));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return error;
}

/// A plan for three ranks.
class Refusals : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    plan_ = device_plan(runtime::Construction::ring, 3, 3);
  }
  std::string plan_;
};

/// Makes an NCCL communicator in a thread for each of so many ranks, hands it to `body` with the rank's
/// device current, and ends it with `end`.
inline void with_nccl(int ranks, bool blocks, runtime::NcclResult (*end)(runtime::NcclComm),
                      const std::function<void(int rank, runtime::NcclComm nccl)>& body) {
  runtime::NcclUniqueId id{};
  runtime::ncclGetUniqueId(&id);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      runtime::CuContext context = nullptr;
      runtime::cuDevicePrimaryCtxRetain(&context, rank);
      runtime::cuCtxPushCurrent_v2(context);
      runtime::NcclConfig config;
      config.blocking = blocks;
      runtime::NcclComm nccl = nullptr;
      auto result = runtime::ncclCommInitRankConfig(&nccl, ranks, id, rank, &config);
      while (result == runtime::kNcclInProgress) runtime::ncclCommGetAsyncError(nccl, &result);
      EXPECT_EQ(result, runtime::kNcclSuccess);
      body(rank, nccl);
      end(nccl);
      runtime::cuDevicePrimaryCtxRelease_v2(rank);
    });
}

}  // namespace cerar::test
