// What a C caller may get wrong on one rank: refused with a code and a sentence, buffers untouched, and the
// communicator works afterwards. One rank suffices: arguments are checked before anything is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

void expect_error(cerarResult_t result, cerarResult_t expected, const std::vector<std::string>& words) {
  EXPECT_EQ(result, expected) << cerarGetErrorString(result);
  expect_sentence(cerarGetLastError(), words);
}

class Arguments : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cerarCommInitLocal(&comm, 1, nullptr, TimeLimit(1000)), cerarSuccess); }
  void TearDown() override {
    // Still usable, and nothing was written before.
    for (float x : to) EXPECT_EQ(x, -1.0f);
    EXPECT_EQ(cerarAllReduce(from.data(), to.data(), from.size(), cerarFloat32, cerarSum, comm, nullptr),
              cerarSuccess);
    EXPECT_EQ(to, from);
    EXPECT_EQ(cerarCommDestroy(comm), cerarSuccess);
  }
  cerarResult_t call(const void* send, void* recv, std::size_t count, cerarDataType_t type = cerarFloat32,
                     cerarRedOp_t op = cerarSum, void* stream = nullptr) {
    return cerarAllReduce(send, recv, count, type, op, comm, stream);
  }

  cerarComm_t comm = nullptr;
  std::vector<float> from = std::vector<float>(100, 3.0f), to = std::vector<float>(100, -1.0f);
};

TEST_F(Arguments, NullSend) {
  expect_error(call(nullptr, to.data(), 100), cerarInvalidArgument, {"send", "null"});
}
TEST_F(Arguments, NullReceive) {
  expect_error(call(from.data(), nullptr, 100), cerarInvalidArgument, {"recv", "null"});
}

TEST_F(Arguments, NullCommunicator) {
  expect_error(cerarAllReduce(from.data(), to.data(), 100, cerarFloat32, cerarSum, nullptr, nullptr),
               cerarInvalidArgument, {"comm", "null"});
}

TEST_F(Arguments, NullInfo) {
  expect_error(cerarCommLastCall(comm, nullptr), cerarInvalidArgument, {"info", "null"});
}

TEST_F(Arguments, NullCommunicatorForInfo) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  expect_error(cerarCommLastCall(nullptr, &info), cerarInvalidArgument, {"comm", "null"});
}

TEST_F(Arguments, InfosOfUnknownSizesAreRefused) {
  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t), sizeof(cerarCallInfo_t) - 1,
                                 sizeof(cerarCallInfo_t) + 8, std::numeric_limits<std::size_t>::max()}) {
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    info.size = size;
    info.lanes = 77;
    expect_error(cerarCommLastCall(comm, &info), cerarInvalidArgument,
                 {"cerarCallInfo_t is " + std::to_string(size), "INITIALIZER"});
    EXPECT_EQ(info.lanes, 77) << "was written";
  }
}

TEST_F(Arguments, ASmallerInfoIsFilledToItsSize) {
  std::vector<float> own(100, 1.0f);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(call(own.data(), own.data(), own.size()), cerarSuccess);
  cerarCallInfo_t info;
  std::memset(&info, 0x5a, sizeof info);
  info.size = offsetof(cerarCallInfo_t, scratch_bytes);
  ASSERT_EQ(cerarCommLastCall(comm, &info), cerarSuccess) << cerarGetLastError();
  EXPECT_EQ(info.call_index, 1u);
  EXPECT_EQ(info.identical, 1);
  EXPECT_EQ(info.size, offsetof(cerarCallInfo_t, scratch_bytes)) << "the caller's";
  const auto* bytes = reinterpret_cast<const unsigned char*>(&info);
  for (std::size_t i = info.size; i < sizeof info; ++i) EXPECT_EQ(bytes[i], 0x5a) << "byte " << i;
}

TEST_F(Arguments, OddSend) {
  const void* odd = reinterpret_cast<const char*>(from.data()) + 1;
  expect_error(call(odd, to.data(), 50), cerarInvalidArgument, {"send is 0x", "multiple of 4"});
}

TEST_F(Arguments, OddReceive) {
  void* odd = reinterpret_cast<char*>(to.data()) + 2;
  expect_error(call(from.data(), odd, 50), cerarInvalidArgument, {"recv is 0x", "multiple of 4"});
}

TEST_F(Arguments, ReceiveOverlapsTheEndOfSend) {
  expect_error(call(to.data(), to.data() + 10, 50), cerarInvalidArgument,
               {"send 0x", "recv 0x", "overlap", "200"});
}

TEST_F(Arguments, ReceiveOverlapsTheStartOfSend) {
  expect_error(call(to.data() + 49, to.data(), 50), cerarInvalidArgument, {"send 0x", "recv 0x", "overlap"});
}

TEST_F(Arguments, BuffersThatOnlyTouchAreFine) {
  std::vector<float> both(100, 2.0f);
  EXPECT_EQ(call(both.data(), both.data() + 50, 50), cerarSuccess);
  EXPECT_EQ(call(both.data() + 50, both.data(), 50), cerarSuccess);
}

TEST_F(Arguments, CountOfAllBytes) {
  expect_error(call(from.data(), to.data(), SIZE_MAX), cerarInvalidArgument,
               {"count is 18446744073709551615"});
}

TEST_F(Arguments, CountThatOverflowsInBytes) {
  expect_error(call(from.data(), from.data(), SIZE_MAX / 4), cerarInvalidArgument,
               {"count is 4611686018427387903"});
}

TEST_F(Arguments, CountJustBeyondMemory) {
  // The first that is too many, and the most that the type holds.
  for (const std::size_t count : {(std::size_t{1} << 44) + 1, std::size_t{1} << 61, SIZE_MAX})
    expect_error(call(from.data(), from.data(), count), cerarInvalidArgument,
                 {"count is " + std::to_string(count), "64 TiB"});
}

TEST_F(Arguments, UnknownType) {
  expect_error(call(from.data(), to.data(), 100, static_cast<cerarDataType_t>(7)), cerarUnsupported,
               {"data type 7", "cerarFloat32"});
}

TEST_F(Arguments, NegativeType) {
  expect_error(call(from.data(), to.data(), 100, static_cast<cerarDataType_t>(-1)), cerarUnsupported,
               {"data type -1", "cerarFloat32"});
}

// What a C caller passes is not always in the range of the enumerators' bits; UBSan sees whether it may be
// looked at.
TEST_F(Arguments, AnyIntForAType) {
  static_assert(std::is_same_v<std::underlying_type_t<cerarDataType_t>, int>);
  for (const int type : {3, 4, 7, 256, 0x7fffffff, -2, -0x7fffffff - 1}) {
    const auto words = "data type " + std::to_string(type);
    expect_error(call(from.data(), to.data(), 100, static_cast<cerarDataType_t>(type)), cerarUnsupported,
                 {words + " "});
    expect_error(cerarCommPrepare(comm, 100, static_cast<cerarDataType_t>(type), cerarSum), cerarUnsupported,
                 {words + " "});
  }
}

TEST_F(Arguments, AnyIntForAnOperation) {
  static_assert(std::is_same_v<std::underlying_type_t<cerarRedOp_t>, int>);
  for (const int op : {2, 3, 7, 256, 0x7fffffff, -1, -0x7fffffff - 1}) {
    const auto words = "operation " + std::to_string(op);
    expect_error(call(from.data(), to.data(), 100, cerarFloat32, static_cast<cerarRedOp_t>(op)),
                 cerarUnsupported, {words + " "});
    expect_error(cerarCommPrepare(comm, 100, cerarFloat32, static_cast<cerarRedOp_t>(op)), cerarUnsupported,
                 {words + " "});
  }
}

TEST_F(Arguments, AnyIntForAResult) {
  static_assert(std::is_same_v<std::underlying_type_t<cerarResult_t>, int>);
  for (const int result : {10, 15, 16, 0x7fffffff, -1, -0x7fffffff - 1})
    EXPECT_STREQ(cerarGetErrorString(static_cast<cerarResult_t>(result)), "unknown result");
}

TEST_F(Arguments, UnknownOperation) {
  expect_error(call(from.data(), to.data(), 100, cerarFloat32, static_cast<cerarRedOp_t>(2)),
               cerarUnsupported, {"operation 2", "cerarSum (0)", "cerarAverage (1)"});
}

TEST_F(Arguments, TypeIsCheckedForNothingToo) {
  expect_error(call(nullptr, nullptr, 0, static_cast<cerarDataType_t>(7)), cerarUnsupported, {"data type 7"});
}

TEST_F(Arguments, Stream) {
  int stream = 0;
  expect_error(call(from.data(), to.data(), 100, cerarFloat32, cerarSum, &stream), cerarInvalidArgument,
               {"stream is not null", "NULL"});
}

TEST_F(Arguments, NothingToReduceTouchesNothing) {
  EXPECT_EQ(call(from.data(), to.data(), 0), cerarSuccess);
  EXPECT_EQ(call(nullptr, nullptr, 0), cerarSuccess);
  EXPECT_EQ(call(reinterpret_cast<const char*>(from.data()) + 1, to.data(), 0), cerarSuccess);
}

TEST(Plans, NullArguments) {
  cerarPlan_t plan = nullptr;
  int workers = 0;
  expect_error(cerarPlanLoad(nullptr, "x"), cerarInvalidArgument, {"plan", "null"});
  expect_error(cerarPlanLoad(&plan, nullptr), cerarInvalidArgument, {"directory", "null"});
  expect_error(cerarPlanWorkers(nullptr, &workers), cerarInvalidArgument, {"plan", "null"});
  ASSERT_EQ(cerarPlanLoad(&plan, exact_plan().c_str()), cerarSuccess);
  expect_error(cerarPlanWorkers(plan, nullptr), cerarInvalidArgument, {"workers", "null"});
  EXPECT_EQ(cerarPlanFree(plan), cerarSuccess);
}

TEST(Plans, FreeingNothingIsAllowedAsFreeAllowsIt) {
  EXPECT_EQ(cerarPlanFree(nullptr), cerarSuccess);
  EXPECT_EQ(cerarCommDestroy(nullptr), cerarSuccess);
}

TEST(Init, NullCommunicators) {
  expect_error(cerarCommInitLocal(nullptr, 1, nullptr, nullptr), cerarInvalidArgument, {"comms", "null"});
}

void expect_ranks_refused(int ranks) {
  cerarComm_t comms[1] = {reinterpret_cast<cerarComm_t>(&ranks)};
  expect_error(cerarCommInitLocal(comms, ranks, nullptr, nullptr), cerarInvalidArgument,
               {"ranks is " + std::to_string(ranks), "1..4096"});
  EXPECT_EQ(comms[0], reinterpret_cast<cerarComm_t>(&ranks)) << "was written";
}

TEST(Init, NoRanks) { expect_ranks_refused(0); }
TEST(Init, NegativeRanks) { expect_ranks_refused(-3); }
TEST(Init, HugeRanks) { expect_ranks_refused(std::numeric_limits<int>::max()); }

TEST(Init, NegativeTimeout) {
  cerarComm_t comm = nullptr;
  expect_error(cerarCommInitLocal(&comm, 1, nullptr, TimeLimit(-5)), cerarInvalidArgument,
               {"timeout_ms is -5"});
  EXPECT_EQ(comm, nullptr);
}

TEST(Init, NegativeMeetingTimeout) {
  cerarCommConfig_t config = CERAR_COMM_CONFIG_INITIALIZER;
  config.meeting_timeout_ms = -7;
  cerarComm_t comm = nullptr;
  expect_error(cerarCommInitLocal(&comm, 1, nullptr, &config), cerarInvalidArgument,
               {"meeting_timeout_ms is -7"});
  EXPECT_EQ(comm, nullptr);
}

TEST(Init, ConfigurationsOfUnknownSizesAreRefused) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(cerarCommConfig_t) - 1,
                                 sizeof(cerarCommConfig_t) + 8, std::numeric_limits<std::size_t>::max()}) {
    cerarCommConfig_t config = CERAR_COMM_CONFIG_INITIALIZER;
    config.size = size;
    cerarComm_t comm = nullptr;
    expect_error(cerarCommInitLocal(&comm, 1, nullptr, &config), cerarInvalidArgument,
                 {"cerarCommConfig_t is " + std::to_string(size), "INITIALIZER"});
    EXPECT_EQ(comm, nullptr);
  }
}

TEST(Version, IsTheProjects) {
  int version = 0;
  ASSERT_EQ(cerarGetVersion(&version), cerarSuccess);
  EXPECT_EQ(version, CERAR_VERSION);
  EXPECT_EQ(std::to_string(CERAR_VERSION_MAJOR) + "." + std::to_string(CERAR_VERSION_MINOR) + "." +
                std::to_string(CERAR_VERSION_PATCH),
            CERAR_VERSION_TEXT);
  EXPECT_EQ(version, CERAR_VERSION_MAJOR * 10000 + CERAR_VERSION_MINOR * 100 + CERAR_VERSION_PATCH);
  expect_error(cerarGetVersion(nullptr), cerarInvalidArgument, {"version", "null"});
}

TEST(Ranks, ACommunicatorKnowsItsRankAndSize) {
  std::array<cerarComm_t, 3> comms{};
  ASSERT_EQ(cerarCommInitLocal(comms.data(), 3, nullptr, nullptr), cerarSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    int own = -1, ranks = -1;
    EXPECT_EQ(cerarCommRank(comms[rank], &own), cerarSuccess);
    EXPECT_EQ(cerarCommSize(comms[rank], &ranks), cerarSuccess);
    EXPECT_EQ(own, rank);
    EXPECT_EQ(ranks, 3);
  }
  expect_error(cerarCommRank(comms[0], nullptr), cerarInvalidArgument, {"rank", "null"});
  expect_error(cerarCommSize(comms[0], nullptr), cerarInvalidArgument, {"ranks", "null"});
  int unused = 0;
  expect_error(cerarCommRank(nullptr, &unused), cerarInvalidArgument, {"comm", "null"});
  for (cerarComm_t comm : comms) cerarCommDestroy(comm);
}

class TimeoutVariable : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { ::unsetenv("CERAR_TIMEOUT"); }
};

TEST_P(TimeoutVariable, IsRefused) {
  ::setenv("CERAR_TIMEOUT", GetParam(), 1);
  cerarComm_t comm = nullptr;
  expect_error(cerarCommInitLocal(&comm, 1, nullptr, nullptr), cerarInvalidArgument,
               {"CERAR_TIMEOUT is '" + std::string(GetParam()) + "'", "seconds"});
  EXPECT_EQ(comm, nullptr);
  // A limit of the caller's own needs no variable.
  EXPECT_EQ(cerarCommInitLocal(&comm, 1, nullptr, TimeLimit(100)), cerarSuccess);
  cerarCommDestroy(comm);
}

INSTANTIATE_TEST_SUITE_P(Garbage, TimeoutVariable,
                         testing::Values("", "soon", "0", "-1", "nan", "inf", "30s", "1e9", " 30", "1,5"));

TEST(LastError, IsPerThread) {
  cerarPlan_t plan = nullptr;
  ASSERT_NE(cerarPlanLoad(&plan, "here-is-none"), cerarSuccess);
  std::thread([] {
    EXPECT_STREQ(cerarGetLastError(), "") << "another thread's error";
    cerarPlan_t other = nullptr;
    EXPECT_NE(cerarPlanLoad(&other, "nor-here"), cerarSuccess);
    EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("nor-here"));
  }).join();
  EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("here-is-none"));
}

TEST(LastError, EveryResultHasAWord) {
  for (int result = 0; result <= cerarInternalError; ++result)
    EXPECT_STRNE(cerarGetErrorString(static_cast<cerarResult_t>(result)), "unknown result");
  EXPECT_STREQ(cerarGetErrorString(static_cast<cerarResult_t>(99)), "unknown result");
  EXPECT_STREQ(cerarGetErrorString(static_cast<cerarResult_t>(-1)), "unknown result");
}

}  // namespace
}  // namespace cerar::test
