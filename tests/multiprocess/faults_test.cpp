// Ranks that die, stop, leave or do not call, in the middle of a job.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "runtime/plan/plan_file.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kRanks = 4;
constexpr int kVictim = 2;
// Takes a good while on any machine, so that a signal comes in the middle.
constexpr std::size_t kLarge = std::size_t{16} << 20;

std::string all_reduce(const Comm& comm, std::size_t count) {
  std::vector<float> vector(count, 1.0f);
  return answer_of(
      cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32, cerarSum, comm.get(), nullptr));
}

// Calls until one fails; the test makes one fail.
std::string first_failure(const Comm& comm) {
  for (;;) {
    report_mark();
    if (const auto answer = all_reduce(comm, kLarge); answer != "ok") return answer;
  }
}

// A new communicator of the ranks that are left.
std::string go_on_without_victim(int rank, const std::string& store) {
  const Comm comm = join(rank < kVictim ? rank : rank - 1, kRanks - 1, "", store);
  float x = 1;
  const auto answer = answer_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, comm.get(), nullptr));
  return answer == "ok" && x != kRanks - 1 ? "wrong sum" : answer;
}

std::string plan_name(const std::string& directory) {
  const auto plan = runtime::load_plan(directory);
  return "of plan " + plan.topology + " (" + plan.digest.substr(0, 12) + ")";
}

class Fault : public testing::TestWithParam<const char*> {
 protected:
  const std::string plan = job_plan("differential", kRanks, 16);
  const std::string stores[2] = {fresh_store(), fresh_store()};
};

TEST_F(Fault, AKilledRankIsNamedByAllOthersWhichGoOn) {
  Job job(kRanks, [&](int rank) {
    Comm comm = join(rank, kRanks, plan, stores[0]);
    const std::string failure = first_failure(comm);
    const std::string again = all_reduce(comm, 10);
    comm.reset();
    return failure + "\n" + again + "\n" + go_on_without_victim(rank, stores[1]);
  });
  for (int rank = 0; rank < kRanks; ++rank) job.await_mark(rank);
  job.await_mark(kVictim);  // its second call
  ::usleep(20000);
  job.signal(kVictim, SIGKILL);
  const auto endings = job.finish();
  EXPECT_EQ(endings[kVictim].signal, SIGKILL);
  for (const std::size_t rank : {0u, 1u, 3u}) {
    const std::string& answer = endings[rank].answer;
    EXPECT_THAT(answer, StartsWith("a peer failed: ")) << rank;
    EXPECT_THAT(answer, HasSubstr("lost its connection to rank 2")) << rank;
    EXPECT_THAT(answer, AllOf(HasSubstr("in all-reduce number "), HasSubstr(plan_name(plan)))) << rank;
    EXPECT_THAT(answer, HasSubstr("\na peer failed: this communicator failed before: ")) << rank;
    EXPECT_THAT(answer, testing::EndsWith("\nok")) << rank;
    EXPECT_FALSE(endings[rank].late) << rank;
  }
}

// As when a link goes down: no connection breaks.
TEST_F(Fault, AStoppedRankIsNamedWithinTheTimeout) {
  using Clock = std::chrono::steady_clock;  // one for all processes of a machine
  Job job(kRanks, [&](int rank) {
    Comm comm = join(rank, kRanks, plan, stores[0], TimeLimit(2000, 60000));
    const std::string failure = first_failure(comm);
    const auto failed_at = Clock::now().time_since_epoch().count();
    comm.reset();
    return fmt::format("{}\n{}\n{}", failure, failed_at,
                       rank == kVictim ? "late" : go_on_without_victim(rank, stores[1]));
  });
  for (int rank = 0; rank < kRanks; ++rank) job.await_mark(rank);
  job.await_mark(kVictim);
  ::usleep(20000);
  job.signal(kVictim, SIGSTOP);
  const Clock::time_point stopped = Clock::now();
  for (const int rank : {0, 1, 3}) {
    const std::string answer = job.await(rank).answer;
    EXPECT_THAT(answer, AnyOf(StartsWith("timeout: "), StartsWith("a peer failed: "))) << rank;
    EXPECT_THAT(answer, AnyOf(HasSubstr("waited 2000 ms for rank(s) 2 to send a message"),
                              HasSubstr("waited 2000 ms for rank(s) 2 to take a message"),
                              HasSubstr("was not called within 2000 ms by rank(s) 2")))
        << rank;
    EXPECT_THAT(answer, testing::EndsWith("\nok")) << rank;
    const Clock::time_point failed(Clock::duration(std::atoll(answer.c_str() + answer.find('\n') + 1)));
    // The timeout is the subject. It begins with the wait that the stop makes endless.
    EXPECT_LT(failed - stopped, std::chrono::seconds(kSanitized ? 20 : 4)) << rank;
  }
  // When it wakes up it fails as well.
  job.signal(kVictim, SIGCONT);
  EXPECT_THAT(job.await(kVictim).answer, testing::EndsWith("\nlate"));
}

TEST_F(Fault, ARankThatDoesNotCallIsNamed) {
  Job job(kRanks, [&](int rank) -> std::string {
    const Comm comm = join(rank, kRanks, plan, stores[0], TimeLimit(1000, 60000));
    if (const auto answer = all_reduce(comm, 100); answer != "ok") return answer;
    if (rank == 1) ::sleep(3);
    return all_reduce(comm, 100);
  });
  const auto endings = job.finish();
  for (const std::size_t rank : {0u, 2u, 3u})
    EXPECT_THAT(endings[rank].answer,
                HasSubstr("all-reduce number 1 was not called within 1000 ms by rank(s) 1"))
        << rank;
  EXPECT_THAT(endings[1].answer, HasSubstr("all-reduce number 1 was not called within 1000 ms by rank(s) 1"));
}

TEST_F(Fault, TheEnvironmentSetsTheTimeout) {
  Job job(2, [&](int rank) -> std::string {
    ::setenv("CERAR_TIMEOUT", "1.5", 1);
    const Comm comm = join(rank, 2, "", stores[0], TimeLimit(0));
    if (rank == 1) ::sleep(4);
    return all_reduce(comm, 100);
  });
  EXPECT_THAT(job.finish()[0].answer, AllOf(HasSubstr("was not called within 1500 ms by rank(s) 1"),
                                            HasSubstr("timeout_ms or CERAR_TIMEOUT")));
}

TEST_F(Fault, ARankThatLeavesIsNamed) {
  Job job(kRanks, [&](int rank) -> std::string {
    Comm comm = join(rank, kRanks, plan, stores[0]);
    if (const auto answer = all_reduce(comm, 100); answer != "ok" || rank == 3) return answer;
    return all_reduce(comm, 100);
  });
  const auto endings = job.finish();
  EXPECT_EQ(endings[3].answer, "ok");
  for (const std::size_t rank : {0u, 1u, 2u})
    EXPECT_THAT(endings[rank].answer,
                AllOf(StartsWith("a peer failed: rank 3 has left the communicator"), HasSubstr("number 1")))
        << rank;
}

// Data on its way is not lost with the connection.
TEST_F(Fault, LeavingAtOnceAfterACallHurtsNobody) {
  for (int i = 0; i < 5; ++i) {
    const std::string store = fresh_store();
    expect_all(kRanks, [&](int rank) {
      const Comm comm = join(rank, kRanks, "", store);
      std::vector<float> vector(1 << 18, 1.0f);
      const auto answer = answer_of(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32,
                                                   cerarSum, comm.get(), nullptr));
      for (const float x : vector)
        if (x != kRanks) return std::string("wrong");
      return answer;
    });
  }
}

}  // namespace
}  // namespace cerar::test
