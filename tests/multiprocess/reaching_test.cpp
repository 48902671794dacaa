// Ranks that cannot reach each other: who, where and why, within the timeout.
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/message.h"
#include "runtime/gloo/meeting/socket.h"
#include "runtime/gloo/meeting/store.h"
#include "runtime/measure/time_limit.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

using runtime::Descriptor;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr int kTimeout = 2000;
constexpr int kShort = 700;  // where nothing has to happen before

// "ok", or the error, and how long it took where that is more than a busy machine needs.
std::string try_to_join(int rank, int ranks, const std::string& store, const char* interface_name = nullptr,
                        int timeout_ms = kTimeout) {
  const auto begin = std::chrono::steady_clock::now();
  cerarComm_t made = nullptr;
  std::string answer = answer_of(
      cerarCommInitGloo(&made, rank, ranks, nullptr, store.c_str(), interface_name, TimeLimit(timeout_ms)));
  if (std::chrono::steady_clock::now() - begin > timeout_ms * 1ms + 4s) answer += " (TOO LATE)";
  cerarCommDestroy(made);
  return answer;
}

// A rank that meets the others and then does as `then` says.
void pretend(int rank, int ranks, const std::string& text, const std::function<void(runtime::Store&)>& then) {
  const Deadline deadline(20s);
  const auto store = runtime::open_store(text, rank, ranks, deadline);
  store->meet(deadline);
  then(*store);
  ::sleep(20);
}

std::string place_of(const std::string& address, int ranks, int port) {
  std::string text = address + " lo";
  for (int i = 0; i < ranks + 2; ++i) text += " " + std::to_string(port);
  return text;
}

// Three ranks of four; what the one that pretends does is what they say.
std::vector<Ending> join_beside(const std::string& store, const char* interface_name,
                                const std::function<void(runtime::Store&)>& then) {
  Job job(4, [&](int rank) -> std::string {
    if (rank == 2) pretend(2, 4, store, then);
    return try_to_join(rank, 4, store, interface_name);
  });
  std::vector<Ending> endings;
  for (const int rank : {0, 1, 3}) endings.push_back(job.await(rank));
  return endings;
}

const auto kNothingOfGloo = AllOf(Not(HasSubstr(".cc")), Not(HasSubstr("TOO LATE")));

TEST(Reaching, ARankThatRefusesIsNamedWithItsAddress) {
  for (const std::string& store : {fresh_store(), fresh_tcp_store()}) {
    const int port = free_port();
    const std::string end = "127.0.0.1:" + std::to_string(port);
    // The others' address is the greater one, so they connect.
    for (const Ending& ending : join_beside(store, "127.0.0.2", [&](runtime::Store& there) {
           there.set("address.2", place_of("127.0.0.1", 4, port));
         }))
      EXPECT_THAT(ending.answer, AllOf(HasSubstr("met rank 2 in the store " + store), HasSubstr(end),
                                       HasSubstr("Connection refused"), kNothingOfGloo));
  }
}

TEST(Reaching, ARankThatDoesNotConnectIsNamedWithinTheTimeout) {
  const std::string store = fresh_tcp_store();
  for (const Ending& ending : join_beside(store, "127.0.0.1", [](runtime::Store& there) {
         there.set("address.2", place_of("127.0.0.2", 4, 9));
       }))
    EXPECT_THAT(
        ending.answer,
        AllOf(HasSubstr("met rank 2 in the store"), HasSubstr("was not reached by it, from 127.0.0.2"),
              HasSubstr("within 2000 ms"), HasSubstr("CERAR_TIMEOUT"), kNothingOfGloo));
}

TEST(Reaching, ARankThatTellsNoAddressIsNamedWithinTheTimeout) {
  const std::string store = fresh_store();
  for (const Ending& ending : join_beside(store, nullptr, [](runtime::Store&) {}))
    EXPECT_THAT(ending.answer,
                AllOf(HasSubstr("rank(s) 2 came to the store"), HasSubstr("within 2000 ms"), kNothingOfGloo));
}

TEST(Reaching, ARankThatEndsWhileOthersConnectIsNamedAtOnce) {
  const std::string store = fresh_tcp_store();
  for (const Ending& ending : join_beside(store, nullptr, [](runtime::Store&) { ::_exit(0); }))
    EXPECT_THAT(ending.answer, AllOf(HasSubstr("rank 2 at 127.0.0.1"), HasSubstr("ended"), kNothingOfGloo));
}

TEST(Reaching, AHostNameThatLeadsNowhereIsNamed) {
  SKIP_WITH_THREAD_SANITIZER("does not know the thread in which glibc looks names up");
  for (const int rank : {0, 1})
    EXPECT_THAT(
        try_to_join(rank, 2, "tcp:no-such-host.invalid:29500", nullptr, kShort),
        AllOf(HasSubstr("the host name 'no-such-host.invalid' resolves to no address"), kNothingOfGloo));
}

TEST(Reaching, APortWhereNobodyListensIsNamed) {
  const std::string store = fresh_tcp_store();
  EXPECT_THAT(try_to_join(1, 2, store, nullptr, kShort),
              AllOf(HasSubstr("rank(s) 0 did not come to the store " + store),
                    HasSubstr(store.substr(4) + " refuses connections: nobody listens there"),
                    HasSubstr("CERAR_TIMEOUT"), kNothingOfGloo));
}

TEST(Reaching, IPv4AgainstIPv6) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "this host has no ::1";
  const std::string port = std::to_string(free_port());
  Job job(2, [&](int rank) {
    return try_to_join(rank, 2, (rank == 0 ? "tcp:127.0.0.1:" : "tcp:[::1]:") + port, nullptr, kShort);
  });
  const auto endings = job.finish();
  EXPECT_THAT(endings[0].answer, AllOf(HasSubstr("rank(s) 1 did not come"), kNothingOfGloo));
  EXPECT_THAT(endings[1].answer, AllOf(HasSubstr("[::1]:" + port + " refuses connections"), kNothingOfGloo));
}

TEST(Reaching, FamiliesThatAreMixedOverADirectoryAreNamed) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "this host has no ::1";
  const std::string store = fresh_store();
  Job job(3, [&](int rank) { return try_to_join(rank, 3, store, rank == 2 ? "::1" : "127.0.0.1"); });
  for (const Ending& ending : job.finish())
    EXPECT_THAT(ending.answer, AllOf(HasSubstr("rank 0 offers 127.0.0.1 (lo) and rank 2 offers ::1 (lo)"),
                                     HasSubstr("IPv4 and IPv6"), kNothingOfGloo));
}

TEST(Reaching, AStoreOfAnotherKind) {
  const std::string directory = fresh_store(), port = fresh_tcp_store();
  Job job(2, [&](int rank) { return try_to_join(rank, 2, rank == 0 ? directory : port, nullptr, kShort); });
  const auto endings = job.finish();
  EXPECT_THAT(endings[0].answer, AllOf(HasSubstr("rank(s) 1 did not come to the store " + directory)));
  EXPECT_THAT(endings[1].answer, AllOf(HasSubstr("rank(s) 0 did not come to the store " + port)));
}

TEST(Reaching, APortInUseIsNamedByRankZero) {
  const int port = free_port();
  const auto [listener, error] = runtime::listen_at(*runtime::parse_address("127.0.0.1", port));
  ASSERT_TRUE(listener);
  const std::string store = "tcp:127.0.0.1:" + std::to_string(port);
  EXPECT_THAT(
      try_to_join(0, 2, store, nullptr, kShort),
      AllOf(HasSubstr("rank 0 cannot serve the store " + store), HasSubstr("in use by another process")));
  // Whoever listens there says nothing.
  EXPECT_THAT(try_to_join(1, 2, store, nullptr, kShort),
              AllOf(HasSubstr("accepts connections but does not answer"), kNothingOfGloo));
}

TEST(Reaching, AHostThatIsNotRankZerosIsNamed) {
  EXPECT_THAT(try_to_join(0, 2, "tcp:192.0.2.7:29500"),
              HasSubstr("192.0.2.7:29500 is no address of this machine"));
}

TEST(Reaching, AnotherServiceAtThePortIsNamed) {
  const int port = free_port();
  const auto [listener, error] = runtime::listen_at(*runtime::parse_address("127.0.0.1", port));
  ASSERT_TRUE(listener);
  Job job(1, [&](int) { return try_to_join(1, 2, "tcp:127.0.0.1:" + std::to_string(port)); });
  ASSERT_TRUE(runtime::await_ready(listener.get(), POLLIN, -1, Deadline(20s)));
  const Descriptor caller(::accept(listener.get(), nullptr, nullptr));
  ASSERT_EQ(::send(caller.get(), "SSH-2.0-banner\r\n", 16, MSG_NOSIGNAL), 16);
  EXPECT_THAT(job.finish()[0].answer,
              HasSubstr("what answers at 127.0.0.1:" + std::to_string(port) + " is not rank 0"));
}

TEST(Reaching, RanksOfAnotherJobAreRefusedAndDisturbNobody) {
  const std::string store = fresh_tcp_store();
  Job job(3, [&](int rank) -> std::string {
    if (rank != 2) return try_to_join(rank, 3, store);
    const auto other_job = try_to_join(1, 5, store);
    return other_job + "\n" + try_to_join(2, 3, store);
  });
  const auto endings = job.finish();
  EXPECT_EQ(endings[0].answer, "ok");
  EXPECT_EQ(endings[1].answer, "ok");
  EXPECT_THAT(endings[2].answer, AllOf(testing::StartsWith("ranks disagree: "),
                                       HasSubstr("for 5 ranks, but its rank 0 began a meeting of 3 ranks"),
                                       testing::EndsWith("\nok")));
}

// As two jobs of one size do that share a store. Which of the two comes first is open.
TEST(Reaching, TheSecondOfTwoProcessesWithOneRankIsRefused) {
  for (const std::string& store : {fresh_store(), fresh_tcp_store()}) {
    const auto refused = job_scratch() / "refused";
    std::filesystem::remove(refused);
    Job job(4, [&](int process) -> std::string {
      if (process == 3)  // the rank without which nobody goes on
        while (!std::filesystem::exists(refused)) ::usleep(1000);
      const int rank = process == 0 ? 0 : process == 3 ? 2 : 1;
      const std::string answer = try_to_join(rank, 3, store, nullptr, 60000);
      if (answer != "ok") std::ofstream(refused) << answer;
      return answer;
    });
    const auto endings = job.finish();
    EXPECT_EQ(endings[0].answer, "ok");
    EXPECT_EQ(endings[3].answer, "ok");
    const bool first = endings[1].answer == "ok";
    EXPECT_EQ(endings[first ? 1 : 2].answer, "ok");
    EXPECT_THAT(endings[first ? 2 : 1].answer,
                AllOf(testing::StartsWith("ranks disagree: "), HasSubstr("rank 1"), HasSubstr(store),
                      HasSubstr("another job may use it")));
  }
}

TEST(Reaching, TooFewDescriptorsAreNamedWithTheNumber) {
  Job job(1, [&](int) {
    const rlimit few{80, 80};
    ::setrlimit(RLIMIT_NOFILE, &few);
    return try_to_join(0, 64, fresh_tcp_store());
  });
  EXPECT_THAT(job.finish()[0].answer, AllOf(HasSubstr("rank 0 of 64 needs 219 file descriptors beside the"),
                                            HasSubstr("this process may have 80"), HasSubstr("ulimit -n")));
}

// As on several hosts, none of which has a network.
TEST(Reaching, HostsWithLoopbackAloneSayWhatTheyHave) {
  SKIP_WITH_THREAD_SANITIZER("does not know the thread in which glibc looks this host's name up");
  const std::string store = fresh_store();
  Job job(2, [&](int rank) -> std::string {
    if (::unshare(CLONE_NEWNET) != 0) return "not permitted";
    return try_to_join(rank, 2, store);
  });
  const auto endings = job.finish();
  if (endings[0].answer == "not permitted") GTEST_SKIP() << "network namespaces are not permitted here";
  for (const Ending& ending : endings)
    EXPECT_THAT(ending.answer, AllOf(HasSubstr("this host has no address that other hosts can reach"),
                                     HasSubstr("its name '"), HasSubstr("lo (down)"), kNothingOfGloo));
}

// Connections that say nothing, that say something else, and that say it slowly.
TEST(Reaching, ManyRanksMeetBesideStrangers) {
  constexpr int kRanks = 24;
  const int port = free_port();
  const std::string store = "tcp:127.0.0.1:" + std::to_string(port);
  Job job(kRanks + 1, [&](int rank) -> std::string {
    if (rank < kRanks) {
      const Comm comm = join(rank, kRanks, "", store);
      float x = 1;
      const auto answer = answer_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, comm.get(), nullptr));
      return x == kRanks ? answer : "wrong sum " + answer;
    }
    std::vector<Descriptor> strangers;
    for (;;) {
      auto [socket, error] = runtime::connect_to(*runtime::parse_address("127.0.0.1", port), Deadline(1s));
      if (!socket && strangers.size() >= 20) return "met";  // its server has ended
      if (!socket) continue;
      const std::string_view words[] = {"", "GET / HTTP/1.0\r\n\r\n", "CERARst2", "CERARst2\xff\xff\xff\xff",
                                        "CER"};
      const auto said = words[strangers.size() % 5];
      ::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
      strangers.push_back(std::move(socket));
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(job.await(rank).answer, "ok") << rank;
}

}  // namespace
}  // namespace cerar::test
