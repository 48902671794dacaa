// Threads and forks beside calls between processes: nothing hangs, nobody gets a wrong sum.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

std::string sum(cerarComm_t comm, int rank, int ranks, std::size_t count = 1000) {
  std::vector<float> vector(count, static_cast<float>(rank + 1));
  const auto answer =
      answer_of(cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32, cerarSum, comm, nullptr));
  for (const float x : vector)
    if (answer == "ok" && x != static_cast<float>(ranks * (ranks + 1) / 2)) return "wrong sum";
  return answer;
}

bool in_use(const std::string& answer) {
  return answer.find("in use by another thread") != std::string::npos;
}

// Returns once another thread is in a call of `comm`, which may be refused beside this question before.
void await_call(cerarComm_t comm) {
  while (cerarCommPrepare(comm, 0, cerarFloat32, cerarSum) == cerarSuccess) std::this_thread::yield();
}

// Ends a call of rank 1, which waits for rank 0, from another thread; the answer of the call, and "late" if
// it took long.
template <typename End>
std::string ended_call(cerarComm_t comm, int ranks, std::size_t count, End end) {
  std::string answer;
  Clock::time_point ended;
  std::thread calls([&] {
    do answer = sum(comm, 1, ranks, count);
    while (answer == "ok" || in_use(answer));
    ended = Clock::now();
  });
  await_call(comm);
  const auto start = Clock::now();
  if (const auto result = end(); result != cerarSuccess) answer += "not ended: " + answer_of(result);
  calls.join();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(ended - start);
  std::fprintf(stderr, "a call ended after %d ms\n", static_cast<int>(took.count()));
  return took > std::chrono::seconds(2) ? answer + " late" : answer;
}

// Of ranks that wait for one that does not call, and of ranks in the middle of data.
TEST(Lifecycle, AnAbortEndsTheCallAndReachesTheOtherRanks) {
  for (const std::size_t count : {std::size_t{1000}, std::size_t{8} << 20}) {
    const std::string store = fresh_store();
    Job job(3, [&](int rank) -> std::string {
      const Comm comm = join(rank, 3, "", store);
      if (rank == 1) {
        const auto ended = ended_call(comm.get(), 3, count, [&] { return cerarCommAbort(comm.get()); });
        return ended + "\n" + sum(comm.get(), 1, 3);
      }
      // Small calls mostly wait for rank 0 when they are ended, large ones for data.
      std::string answer = "ok";
      if (rank == 0 && count == 1000) ::usleep(100000);
      while (answer == "ok") answer = sum(comm.get(), rank, 3, count);
      return answer;
    });
    const auto endings = job.finish();
    EXPECT_THAT(endings[1].answer,
                AllOf(StartsWith("aborted: rank 1 aborted its communicator (cerarCommAbort)"),
                      HasSubstr("\naborted: "), testing::Not(HasSubstr("late"))));
    for (const std::size_t rank : {0u, 2u}) {
      EXPECT_THAT(endings[rank].answer, AllOf(StartsWith("a peer failed: "), HasSubstr("rank 1"))) << rank;
      EXPECT_FALSE(endings[rank].late) << rank;
    }
  }
}

// Rank 0 stands still in the middle of data: no byte comes, and nobody answers.
TEST(Lifecycle, AnAbortEndsACallThatWaitsForAStoppedRank) {
  const std::string store = fresh_store();
  Job job(2, [&](int rank) -> std::string {
    const Comm comm = join(rank, 2, "", store);
    if (rank == 0) {
      report_mark();
      std::string answer;
      while ((answer = sum(comm.get(), 0, 2, std::size_t{8} << 20)) == "ok") {
      }
      return answer;
    }
    std::string answer = ended_call(comm.get(), 2, std::size_t{8} << 20, [&] {
      ::usleep(300000);  // the other rank is stopped by then
      return cerarCommAbort(comm.get());
    });
    report_mark();
    return answer;
  });
  job.await_mark(0);
  ::usleep(100000);
  job.signal(0, SIGSTOP);
  job.await_mark(1);
  job.signal(0, SIGCONT);
  const auto endings = job.finish();
  EXPECT_THAT(endings[1].answer,
              AllOf(StartsWith("aborted: rank 1 aborted"), testing::Not(HasSubstr("late"))));
  EXPECT_THAT(endings[0].answer, AllOf(StartsWith("a peer failed: "), HasSubstr("rank 1")));
}

TEST(Lifecycle, AnAbortWithoutACallReachesRanksThatWait) {
  const std::string store = fresh_store();
  Job job(2, [&](int rank) -> std::string {
    const Comm comm = join(rank, 2, "", store);
    if (const auto answer = sum(comm.get(), rank, 2); answer != "ok") return answer;
    if (rank == 1) return sum(comm.get(), 1, 2);
    const auto answer = answer_of(cerarCommAbort(comm.get()));
    return answer == "ok" ? sum(comm.get(), 0, 2) : answer;
  });
  const auto endings = job.finish();
  EXPECT_THAT(endings[0].answer, StartsWith("aborted: "));
  EXPECT_THAT(endings[1].answer,
              AllOf(StartsWith("a peer failed: "), HasSubstr("rank 0 aborted its communicator")));
}

TEST(Lifecycle, DestroyingDuringACallEndsTheCall) {
  const std::string store = fresh_store();
  Job job(2, [&](int rank) -> std::string {
    Comm comm = join(rank, 2, "", store);
    if (rank == 0) {
      ::usleep(50000);
      return sum(comm.get(), 0, 2, 8 << 20);
    }
    const cerarComm_t handle = comm.release();
    return ended_call(handle, 2, 8 << 20, [&] { return cerarCommDestroy(handle); });
  });
  const auto endings = job.finish();
  EXPECT_THAT(endings[1].answer, AllOf(StartsWith("aborted: rank 1 destroyed its communicator during a call"),
                                       testing::Not(HasSubstr("late"))));
  EXPECT_THAT(endings[0].answer, AllOf(StartsWith("a peer failed: "), HasSubstr("rank 1")));
}

TEST(Lifecycle, ASecondThreadIsRefusedAndHarmsNothing) {
  const std::string store = fresh_store();
  expect_all(2, [&](int rank) -> std::string {
    const Comm comm = join(rank, 2, "", store);
    if (rank == 0) {
      ::usleep(200000);
      return sum(comm.get(), 0, 2);
    }
    std::string first;
    std::thread calls([&] {
      do first = sum(comm.get(), 1, 2);
      while (in_use(first));
    });
    await_call(comm.get());
    const std::string second = sum(comm.get(), 1, 2);
    calls.join();
    return in_use(second) ? first : "second: " + second;
  });
}

TEST(Lifecycle, AForkedChildIsRefusedAndTheJobGoesOn) {
  const std::string store = fresh_store();
  expect_all(2, [&](int rank) -> std::string {
    const Comm comm = join(rank, 2, "", store);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool refused = sum(comm.get(), rank, 2).find("was made by process") != std::string::npos &&
                           cerarCommAbort(comm.get()) == cerarInvalidArgument &&
                           cerarCommDestroy(comm.get()) == cerarInvalidArgument;
      ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0 ? sum(comm.get(), rank, 2, 100000) : "the child was not refused";
  });
}

}  // namespace
}  // namespace cerar::test
