// cerar-bench on devices: a program that knows nothing of the stand-ins finds them on its library path.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/temporary_directory.h"
#include "runtime/bench/nccl_ids.h"
#include "runtime/measure/rank_threads.h"
#include "tests/device/support/device_plans.h"
#include "tests/software_gpu/software_nccl.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

using runtime::Construction;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

CommandResult bench(const std::string& plan, std::vector<std::string> options) {
  std::vector<std::string> words = {CERAR_BENCH, "--plan", plan, "-b", "64K", "-e", "64K", "-n", "2"};
  words.insert(words.end(), options.begin(), options.end());
  return run_command(words, {.environment = {"LD_LIBRARY_PATH=" CERAR_STAND_INS, "SOFTWARE_GPU_PLAN=" + plan,
                                             "SOFTWARE_GPU_DELAY_US=20"}});
}

// The only row of a run with --json.
nlohmann::json row_of(const CommandResult& done) {
  if (done.exit_code != 0) throw std::runtime_error("cerar-bench: " + done.err);
  return nlohmann::json::parse(done.out).at("rows").at(0);
}

// More than half of the claim and less than all of it, and nothing wrong.
void expect_as_claimed(const nlohmann::json& row) {
  for (const char* half : {"in_place", "out_of_place"}) {
    EXPECT_EQ(row[half]["wrong"], 0) << row;
    const auto claim = row[half]["claimed_error"].get<double>();
    EXPECT_GT(row[half]["error"].get<double>(), 0.5 * claim) << row;
    EXPECT_LT(row[half]["error"].get<double>(), 1.2 * claim) << row;
    EXPECT_GT(row[half]["time_us"].get<double>(), 0) << row;
  }
}

TEST(DeviceBench, RanksOfOneProcessOverNcclBesideNcclsOwnAllReduce) {
  const std::string plan = device_plan(Construction::differential, 4, 16);
  const auto row = row_of(bench(plan, {"--transport", "nccl", "--json"}));
  expect_as_claimed(row);
  EXPECT_EQ(row["variant"], "differential-c16");
  EXPECT_GE(row["sent_bytes"].get<int>(), 65536 * 18 / 16);
  EXPECT_GT(row["baseline_time_us"].get<double>(), 0);
}

TEST(DeviceBench, WhatNcclSendsIsNotKnown) {
  const std::string plan = device_plan(Construction::ring, 4, 4, 2, runtime::Wire::f32, 1 << 20);
  const auto row = row_of(bench(plan, {"--transport", "nccl", "--json"}));
  EXPECT_EQ(row["variant"], "baseline");
  EXPECT_TRUE(row["sent_bytes"].is_null());
  EXPECT_TRUE(row["in_place"]["wirebw_gbs"].is_null());
  EXPECT_EQ(row["in_place"]["wrong"], 0);
  EXPECT_THAT(bench(plan, {"--transport", "nccl"}).out, HasSubstr("NCCL's own"));
}

TEST(DeviceBench, VectorsInSixteenBits) {
  const std::string plan = device_plan(Construction::differential, 4, 16);
  const auto row = row_of(bench(plan, {"--transport", "nccl", "--json", "--dtype", "f16"}));
  EXPECT_EQ(row["type"], "f16");
  EXPECT_EQ(row["count"], 32768);
  // Rounded once, to 11 bits, which is the larger part.
  EXPECT_GT(row["claimed_error"].get<double>(), 0.42 * 0x1p-11);
  expect_as_claimed(row);
}

TEST(DeviceBench, WholeNumbersThatAnExactPlanAverages) {
  const std::string plan = device_plan(Construction::ring, 4, 4);
  const auto row =
      row_of(bench(plan, {"--transport", "nccl", "--json", "--input", "integers", "--op", "average"}));
  EXPECT_EQ(row["redop"], "average");
  EXPECT_EQ(row["in_place"]["error"], 0);
  EXPECT_EQ(row["out_of_place"]["between_ranks"], 0);
}

TEST(DeviceBench, CopiesBetweenRanksThatShareADevice) {
  const std::string plan = device_plan(Construction::differential, 4, 16);
  const auto row = row_of(bench(plan, {"--transport", "gpus", "--devices", "0,0,1,1", "--json"}));
  expect_as_claimed(row);
  EXPECT_TRUE(row["baseline_time_us"].is_null());
  const auto table = bench(plan, {"--transport", "gpus", "--devices", "0,0,1,1"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(StartsWith("# 4 ranks, transport gpus"), HasSubstr(" -\n")));
}

TEST(DeviceBench, AProcessPerRankMeetsInAStore) {
  const TemporaryDirectory directory;
  const std::string plan = device_plan(Construction::ring, 4, 4);
  const auto done = bench(plan, {"--transport", "nccl", "--rank", "0", "--size", "1", "--store",
                                 "file:" + directory.path().string()});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("transport nccl (one process per rank)"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "something is left in the store";
}

// The stand-in for NCCL does not connect processes; what connects them is tested here.
TEST(DeviceBench, RanksGetTheIdsOfRankZero) {
  const TemporaryDirectory directory;
  const std::string store = "file:" + directory.path().string();
  std::vector<runtime::NcclIds> ids(3);
  {
    std::vector<std::unique_ptr<runtime::SharedNcclIds>> shared(3);
    runtime::run_ranks(3, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      shared[at] = std::make_unique<runtime::SharedNcclIds>(store, rank, 3);
      ids[at] = shared[at]->ids();
    });
  }
  const auto text = [](const cerarNcclId_t& id) { return std::string(id.bytes, sizeof id.bytes); };
  for (const std::size_t rank : {1u, 2u}) {
    EXPECT_EQ(text(ids[rank].measured), text(ids[0].measured));
    EXPECT_EQ(text(ids[rank].ring), text(ids[0].ring));
  }
  EXPECT_NE(text(ids[0].measured), text(ids[0].ring));
  EXPECT_EQ(software_nccl_communicators(), 0);  // and so this is the stand-in that made the ids
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "something is left in the store";
}

struct Refused {
  const char* name;
  std::vector<std::string> options;
  std::vector<std::string> words;
};

class DeviceBenchRefusal : public testing::TestWithParam<Refused> {};

TEST_P(DeviceBenchRefusal, IsOneSentence) {
  const auto done = bench(device_plan(Construction::ring, 4, 4), GetParam().options);
  EXPECT_EQ(done.exit_code, 1) << done.out;
  for (const auto& word : GetParam().words) EXPECT_THAT(done.err, HasSubstr(word));
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
}

const Refused kRefused[] = {
    {"TooFewDevicesNamed",
     {"--transport", "nccl", "--devices", "0,1"},
     {"--devices names 2 devices", "4 workers"}},
    {"FewerDevicesThanRanks",
     {"--transport", "nccl", "--devices", "0,1,2,4"},
     {"device 4 does not exist", "there are 4"}},
    {"NoSuchDevice", {"--transport", "gpus", "--devices", "0,1,2,77"}, {"device 77 does not exist"}},
    {"ARankWithoutAStore", {"--transport", "nccl", "--size", "4"}, {"--rank, --size and --store"}},
    {"ARankWithTwoDevices",
     {"--transport", "nccl", "--rank", "0", "--size", "4", "--store", "file:nowhere", "--devices", "0,1"},
     {"this process is one rank"}},
    {"ASharedDeviceOverNccl", {"--transport", "nccl", "--devices", "0,1,2,0"}, {"device 0 twice", "gpus"}},
};

INSTANTIATE_TEST_SUITE_P(Cases, DeviceBenchRefusal, testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cerar::test
