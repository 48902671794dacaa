// The tests find faults: each wait, record, free and size that a call consists of is left out once, and the
// loop below must notice. Without a fault it never complains.
#include <limits>
#include <optional>
#include <string>

#include "runtime/measure/measure.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_test.h"
#include "tests/device/support/vectors.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr int kCalls = 3;            // the second one is faulty: it can come too early and too late
constexpr int kMostAttempts = 1500;  // seen: up to 260

struct Subject {
  const char* name;
  Link link;
  Construction construction;
  int ranks, components;
  std::size_t count;
  int lanes;
};

// Each code and each link once, since they do not know of each other.
// Without a padded row and with equal pieces, so that no buffer is larger than what is used of it.
constexpr Subject kSubjects[] = {
    {"RingOverNccl", Link::nccl, Construction::ring, 4, 4, 4 * 64, 1},
    {"TwoLanesOverNccl", Link::nccl, Construction::ring, 3, 3, 3 * 65536, 2},
    {"TwoLanesOverPeers", Link::peers, Construction::ring, 3, 3, 3 * 65536, 2},
    {"DifferentialOverPeers", Link::peers, Construction::differential, 3, 9, 9 * 64, 1},
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

class Mutations : public DeviceTest, public ::testing::WithParamInterface<Subject> {
 protected:
  using Results = std::vector<Vectors>;  // [call][rank]

  void SetUp() override {
    DeviceTest::SetUp();
    plan_ = device_plan(GetParam().construction, GetParam().ranks, GetParam().components);
    for (int call = 0; call < kCalls; ++call)
      inputs_.push_back(
          inputs(GetParam().ranks, GetParam().count, Input::integers, static_cast<std::uint64_t>(call + 1)));
  }
  void TearDown() override {
    start_anew();  // what the faults have left behind
    DeviceTest::TearDown();
  }

  void forget_everything() {
    start_anew();
    software_gpu_use(plan_.c_str());
  }

  // The calls of all ranks, uploads, calls and downloads enqueued without a wait. In the second call of rank
  // `victim` the n-th operation of that kind is left out, n = 0: none. `left` is how many were missing to n.
  Results calls(const DeviceRanks& ranks, int victim = 0, int fault = 0, long long n = 0,
                long long* left = nullptr) const {
    const std::size_t count = GetParam().count;
    Results results(kCalls, Vectors(inputs_[0].size(), std::vector<float>(count)));
    ranks.run([&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::uint64_t bytes = count * sizeof(float);
      const DeviceVector send(bytes), receive(bytes);
      const std::vector<float> poison(count, std::numeric_limits<float>::quiet_NaN());
      const CuStream stream = ranks.stream(rank);
      require_success(cerarCommPrepare(ranks.comm(rank), count, cerarFloat32, cerarSum));
      for (std::size_t call = 0; call < kCalls; ++call) {
        const bool faulty = n > 0 && call == 1 && rank == victim;
        send.upload(inputs_[call][r].data(), stream);
        receive.upload(poison.data(), stream);
        if (faulty) software_gpu_inject_here(fault, n);
        const auto result = cerarAllReduce(send.data(), receive.data(), count, cerarFloat32, cerarSum,
                                           ranks.comm(rank), stream);
        if (faulty) *left = software_gpu_inject_here(fault, 0);
        require_success(result);
        send.upload(poison.data(), stream);
        require_driver(cuMemcpyDtoHAsync_v2(results[call][r].data(),
                                            reinterpret_cast<std::uintptr_t>(receive.data()), bytes, stream),
                       "cuMemcpyDtoHAsync");
      }
      require_driver(cuStreamSynchronize(stream), "cuStreamSynchronize");
    });
    return results;
  }

  // The right results, checked against sums in double.
  Results expected() {
    software_gpu_delays(0, 1);
    const DeviceRanks ranks(GetParam().link, plan_, GetParam().ranks);
    Results results = calls(ranks);
    EXPECT_EQ(last_call(ranks).lanes, GetParam().lanes);
    for (std::size_t call = 0; call < kCalls; ++call) {
      if (GetParam().construction == Construction::ring)
        expect_exact_sums(inputs_[call], results[call]);
      else
        EXPECT_LT(relative_error(inputs_[call], results[call]), 1.2 * last_call(ranks).claimed_error);
    }
    return results;
  }

  // Leaves out each operation of a kind (every fifth with two lanes) but the last `spared`, until it shows or
  // `kMostAttempts` are over. Returns those that never did.
  std::vector<long long> without_effect(int fault, long long spared = 0) {
    const Results right = expected();
    std::optional<DeviceRanks> ranks(std::in_place, GetParam().link, plan_, GetParam().ranks);
    constexpr long long kMany = 1'000'000;
    long long left = 0;
    EXPECT_EQ(calls(*ranks, 0, fault, kMany, &left), right);
    const long long operations = kMany - left - spared;
    EXPECT_GE(operations, 4);
    std::vector<long long> never;
    unsigned seed = 1;
    // Two lanes do the same one by one; all of theirs take a minute, and none was without effect.
    const long long stride = GetParam().lanes > 1 ? 5 : 1;
    for (long long n = 1; n <= operations; n += stride) {
      if (n == operations - needless_at_the_end()) continue;
      bool noticed = false;
      for (int attempt = 0; attempt < kMostAttempts && !noticed; ++attempt) {
        if (!ranks) ranks.emplace(GetParam().link, plan_, GetParam().ranks);
        software_gpu_delays(GetParam().lanes > 1 ? 400 : 150, ++seed);
        try {
          noticed = calls(*ranks, attempt % GetParam().ranks, fault, n, &left) != right;
          EXPECT_EQ(left, 0);
        } catch (const std::exception&) {
          noticed = true;
          ranks.reset();
          forget_everything();
        }
      }
      if (!noticed) never.push_back(n);
    }
    return never;
  }

  // The kernel that closes a class of the differential code writes what it received, bit for bit, when
  // nothing of its own joins. So it does not show at the last message whether it was waited for; it must be,
  // for no message may be written while it is sent. Between that wait or record and the end of the call are
  // one for the arrival and one for the end, and with peer copies two more for the neighbours. Otherwise:
  // none.
  long long needless_at_the_end() const {
    if (GetParam().construction != Construction::differential) return -1;
    return GetParam().link == Link::peers ? 4 : 2;
  }

  std::string plan_;
  std::vector<Vectors> inputs_;
};

TEST_P(Mutations, NothingIsNoticedWithoutAFault) {
  const Results right = expected();
  const DeviceRanks ranks(GetParam().link, plan_, GetParam().ranks);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    software_gpu_delays(150, seed);
    ASSERT_EQ(calls(ranks), right) << "seed " << seed;
  }
}

TEST_P(Mutations, EveryWaitIsNeeded) {
  SKIP_WITH_THREAD_SANITIZER("ends with the first race, and races are made here");
  EXPECT_EQ(without_effect(kSoftwareGpuDropWait), std::vector<long long>());
}

// The last record of a call is the watch's, which supervises and orders nothing: without it a rank that stops
// in the middle is not noticed, which a test of its own shows.
TEST_P(Mutations, EveryRecordIsNeeded) {
  SKIP_WITH_THREAD_SANITIZER("ends with the first race, and races are made here");
  EXPECT_EQ(without_effect(kSoftwareGpuDropRecord, 1), std::vector<long long>());
}

// A life of communicators: made, one call, destroyed. Returns whether the result was right; throws what
// failed.
bool lives(const Subject& subject, const std::string& plan) {
  const Vectors given = inputs(subject.ranks, subject.count + 1, Input::integers);
  const DeviceRanks ranks(subject.link, plan, subject.ranks, 500);
  const Vectors found = all_reduce(ranks, given, false);
  if (subject.construction != Construction::ring)
    return relative_error(given, found) < 1.2 * last_call(ranks).claimed_error;
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    double sum = 0;
    for (const auto& vector : given) sum += vector[i];
    for (const auto& result : found)
      if (result[i] != sum) return false;
  }
  return true;
}

TEST_P(Mutations, EveryFreeIsNeeded) {
  if (GetParam().lanes > 1) GTEST_SKIP() << "more of the same";
  software_gpu_delays(0, 1);
  EXPECT_TRUE(lives(GetParam(), plan_));
  expect_nothing_left();
  // Most of them are the events of the watches, which one loop destroys; their number shares no factor
  // with 7.
  for (long long n = 1;; n += 7) {
    software_gpu_inject(kSoftwareGpuLeak, n);
    EXPECT_TRUE(lives(GetParam(), plan_));
    if (software_gpu_inject(kSoftwareGpuLeak, 0) > 0) break;
    const SoftwareGpuCounters now = counted();
    EXPECT_EQ(now.allocations_live + now.streams_live + now.events_live + now.modules_live, 1) << n;
    forget_everything();
    software_gpu_delays(0, 1);
  }
}

TEST_P(Mutations, EveryByteIsNeeded) {
  if (GetParam().lanes > 1) GTEST_SKIP() << "more of the same";
  software_gpu_delays(0, 1);
  long long n = 1;
  for (;; ++n) {
    software_gpu_inject(kSoftwareGpuShortenAllocation, n);
    bool noticed = false;
    try {
      noticed = !lives(GetParam(), plan_);
    } catch (const std::exception&) {
      noticed = true;
    }
    if (software_gpu_inject(kSoftwareGpuShortenAllocation, 0) > 0) break;
    EXPECT_TRUE(noticed || counted().guard_faults + counted().illegal_accesses > 0) << "allocation " << n;
    forget_everything();
    software_gpu_delays(0, 1);
  }
  EXPECT_GT(n, 4 * GetParam().ranks);  // two vectors and two messages of each rank
}

INSTANTIATE_TEST_SUITE_P(, Mutations, ::testing::ValuesIn(kSubjects),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cerar::test
