// Several who publish to one place: the first one counts, and nobody's files are lost.
#include "generator/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"

namespace cerar::generator {
namespace {

namespace fs = std::filesystem;

constexpr int kTuners = 16, kRounds = 40;

std::vector<std::string> entries_of(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

/// Each on a thread, at once; how many succeed. The others must say that there is a plan.
int publish_at_once(const fs::path& destination, bool replace) {
  std::atomic<int> successes = 0;
  std::barrier together(kTuners);
  std::vector<std::thread> threads;
  for (int tuner = 0; tuner < kTuners; ++tuner)
    threads.emplace_back([&, tuner] {
      StagedDirectory staged(destination, replace);
      staged.write("plan.yaml", std::to_string(tuner));
      together.arrive_and_wait();
      try {
        staged.publish();
        ++successes;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_THAT(error.what(), testing::HasSubstr("already holds a plan"));
      }
    });
  for (auto& thread : threads) thread.join();
  return successes;
}

TEST(Publish, OfSeveralThatKeepWhatIsThereOneWins) {
  const TemporaryDirectory directory;
  for (int round = 0; round < kRounds; ++round) {
    const auto destination = directory.path() / std::to_string(round);
    if (round % 2) fs::create_directory(destination);  // an empty one is free
    EXPECT_EQ(publish_at_once(destination, false), 1);
    EXPECT_THAT(entries_of(destination), testing::ElementsAre("plan.yaml"));
  }
  EXPECT_EQ(entries_of(directory.path()).size(), static_cast<std::size_t>(kRounds))
      << "something is left behind";
}

TEST(Publish, OfSeveralThatReplaceAllSucceedAndOneStays) {
  const TemporaryDirectory directory;
  for (int round = 0; round < kRounds; ++round) {
    const auto destination = directory.path() / std::to_string(round % 2);
    EXPECT_EQ(publish_at_once(destination, true), kTuners);
    EXPECT_THAT(entries_of(destination), testing::ElementsAre("plan.yaml"));
  }
  EXPECT_THAT(entries_of(directory.path()), testing::UnorderedElementsAre("0", "1"));
}

TEST(Publish, WhatCameMeanwhileIsNotRemoved) {
  const TemporaryDirectory directory;
  const auto destination = directory.path() / "plan";
  {
    StagedDirectory first(destination, true);
    first.write("plan.yaml", "first");
    first.publish();
    StagedDirectory second(destination, true);
    second.write("plan.yaml", "second");
    std::ofstream(destination / "thesis") << "irreplaceable";
    EXPECT_THROW(second.publish(), Error);
  }
  EXPECT_EQ(read_file(destination / "plan.yaml"), "first");
  EXPECT_EQ(read_file(destination / "thesis"), "irreplaceable");
  EXPECT_THAT(entries_of(directory.path()), testing::ElementsAre("plan"));
}

TEST(Publish, AnotherTunersPlanIsKeptWhenAsked) {
  const TemporaryDirectory directory;
  const auto destination = directory.path() / "plan";
  StagedDirectory slow(destination, false), fast(destination, false);
  slow.write("plan.yaml", "slow");
  fast.write("plan.yaml", "fast");
  fast.publish();
  EXPECT_THROW(slow.publish(), Error);
  EXPECT_EQ(read_file(destination / "plan.yaml"), "fast");
}

}  // namespace
}  // namespace cerar::generator
