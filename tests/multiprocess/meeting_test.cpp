// How ranks find each other, and what may be in their way.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/store.h"
#include "runtime/measure/time_limit.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(const std::string& store) { return store.substr(5); }

std::string joined_sum(int rank, int ranks, const std::string& store, const char* interface_name = nullptr) {
  cerarComm_t made = nullptr;
  if (const auto answer = answer_of(
          cerarCommInitGloo(&made, rank, ranks, nullptr, store.c_str(), interface_name, TimeLimit(60000)));
      answer != "ok")
    return answer;
  const Comm comm(made);
  float x = static_cast<float>(rank + 1);
  if (const auto answer = answer_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, made, nullptr));
      answer != "ok")
    return answer;
  return x == static_cast<float>(ranks * (ranks + 1) / 2) ? "ok" : "wrong sum";
}

TEST(Meeting, LeavesNothingInTheDirectory) {
  const std::string store = fresh_store();
  expect_all(3, [&](int rank) { return joined_sum(rank, 3, store); });
  EXPECT_TRUE(fs::is_empty(directory_of(store)));
}

TEST(Meeting, OneStoreServesOneCommunicatorAfterTheOther) {
  const std::string store = fresh_store();
  expect_all(3, [&](int rank) {
    std::string answer = "ok";
    for (int i = 0; i < 5 && answer == "ok"; ++i) answer = joined_sum(rank, 3, store);
    return answer;
  });
}

TEST(Meeting, ByHostAndPort) {
  const std::string store = fresh_tcp_store();
  expect_all(3, [&](int rank) {
    std::string answer = "ok";
    for (int i = 0; i < 10 && answer == "ok"; ++i) answer = joined_sum(rank, 3, store);
    return answer;
  });
}

TEST(Meeting, ByInterfaceAndByAddress) {
  for (const char* name : {"lo", "127.0.0.1"}) {
    const std::string store = fresh_store();
    expect_all(2, [&](int rank) { return joined_sum(rank, 2, store, name); });
  }
}

TEST(Meeting, IPv6LiteralsAndURLs) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "this host has no ::1";
  const std::string port = std::to_string(free_port());
  std::vector<std::string> places = {"tcp:[::1]:" + port, "tcp://[::1]:" + port, "tcp://127.0.0.1:" + port};
  // ThreadSanitizer does not know the thread in which glibc looks names up.
  if (!kThreadSanitized) places.push_back("tcp://localhost:" + port + "/");
  for (const std::string& place : places) expect_all(3, [&](int rank) { return joined_sum(rank, 3, place); });
  const std::string store = fresh_store();
  expect_all(2, [&](int rank) { return joined_sum(rank, 2, "file://" + store.substr(5), "::1"); });
}

TEST(Meeting, AnUnknownInterfaceIsNamed) {
  const std::string store = fresh_store();
  Job job(2, [&](int rank) { return joined_sum(rank, 2, store, "pigeon7"); });
  for (const Ending& ending : job.finish())
    EXPECT_THAT(ending.answer, testing::AllOf(testing::StartsWith("invalid argument"),
                                              testing::HasSubstr("the interface is 'pigeon7'")));
}

TEST(Meeting, ARankThatNeverComesIsNamedByEveryOther) {
  const std::string store = fresh_store();
  Job job(4, [&](int rank) -> std::string {
    if (rank == 2) return "stayed away";
    const Comm comm = join(rank, 4, "", store, TimeLimit(1500));
    return "joined";
  });
  const auto endings = job.finish();
  for (const std::size_t rank : {0u, 1u, 3u})
    EXPECT_THAT(endings[rank].answer,
                testing::HasSubstr("rank(s) 2 did not come to the store " + store + " within 1500 ms"))
        << rank;
}

TEST(Meeting, RankZeroThatNeverComesIsNamed) {
  for (const std::string& store : {fresh_store(), std::string("tcp:127.0.0.1:9")}) {
    Job job(3, [&](int rank) -> std::string {
      if (rank == 0) return "stayed away";
      const Comm comm = join(rank, 3, "", store, TimeLimit(1000));
      return "joined";
    });
    const auto endings = job.finish();
    for (const std::size_t rank : {1u, 2u})
      EXPECT_THAT(endings[rank].answer, testing::HasSubstr("rank(s) 0")) << rank;
  }
}

TEST(Meeting, ADeadJobsStoreDisturbsNobody) {
  const std::string store = fresh_store();
  {  // killed while two of three wait
    Job dead(2, [&](int rank) -> std::string {
      report_mark();
      const Comm comm = join(rank, 3, "", store);
      return "joined";
    });
    for (int rank : {0, 1}) dead.await_mark(rank);
    while (!fs::exists(directory_of(store) / "cerar-roster") ||
           !fs::exists(directory_of(store) / "cerar-hello.1") ||
           !fs::exists(directory_of(store) / "cerar-acknowledged.1"))
      ::usleep(1000);
    for (int rank : {0, 1}) dead.signal(rank, SIGKILL);
    for (const Ending& ending : dead.finish()) EXPECT_EQ(ending.signal, SIGKILL);
  }
  // What is left of a rank 2 as well, and of a write that was cut short.
  fs::copy_file(directory_of(store) / "cerar-hello.1", directory_of(store) / "cerar-hello.2");
  fs::copy_file(directory_of(store) / "cerar-acknowledged.1", directory_of(store) / "cerar-acknowledged.2");
  std::ofstream(directory_of(store) / "cerar-roster.0.unfinished") << "half a ros";
  // One of them missing again: the leftovers are not taken for it.
  Job partial(2, [&](int rank) -> std::string {
    const Comm comm = join(rank, 3, "", store, TimeLimit(1000));
    return "joined";
  });
  for (const Ending& ending : partial.finish())
    EXPECT_THAT(ending.answer, testing::HasSubstr("rank(s) 2 did not come"));
  expect_all(3, [&](int rank) {
    if (rank == 2) ::usleep(300000);  // the others have seen the leftovers by then
    return joined_sum(rank, 3, store);
  });
}

TEST(Meeting, StoresThatCannotBeMeantAreRefused) {
  for (const char* text :
       {"", "file:", "nfs:/tmp", "tcp:", "tcp:host", "tcp::80", "tcp:host:0", "tcp:host:65536",
        "tcp:host:80x", "tcp:::1:80", "tcp:[::1]", "tcp:[]:80", "tcp://host", "tcp://:80",
        "tcp:host:99999999999999", "tcp:a b:80", "file://host/tmp"}) {
    cerarComm_t comm = nullptr;
    EXPECT_EQ(cerarCommInitGloo(&comm, 0, 2, nullptr, text, nullptr, TimeLimit(1000)), cerarInvalidArgument)
        << text;
    EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("file:DIRECTORY or tcp:HOST:PORT")) << text;
    EXPECT_EQ(comm, nullptr);
  }
  cerarComm_t unmade = nullptr;
  cerarCommInitGloo(&unmade, 0, 2, nullptr, "tcp:host:65536", nullptr, TimeLimit(1000));
  EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("port 65536 does not lie in 1..65535"));
  cerarCommInitGloo(&unmade, 0, 2, nullptr, "tcp:::1:80", nullptr, TimeLimit(1000));
  EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("needs brackets, as in tcp:[::1]:29500"));
  cerarComm_t comm = nullptr;
  EXPECT_EQ(cerarCommInitGloo(&comm, 0, 2, nullptr, "file:/proc/nowhere", nullptr, TimeLimit(1000)),
            cerarSystemError);
  EXPECT_THAT(cerarGetLastError(), testing::HasSubstr("/proc/nowhere"));
  EXPECT_EQ(cerarCommInitGloo(&comm, 2, 2, nullptr, "file:/tmp", nullptr, TimeLimit(1000)),
            cerarInvalidArgument);
  EXPECT_EQ(cerarCommInitGloo(&comm, 0, 0, nullptr, "file:/tmp", nullptr, TimeLimit(1000)),
            cerarInvalidArgument);
  EXPECT_EQ(cerarCommInitGloo(&comm, 0, 2, nullptr, nullptr, nullptr, TimeLimit(1000)), cerarInvalidArgument);
}

}  // namespace
}  // namespace cerar::test
