// Ranks that do not do the same: all of them learn it, in time, and what can go on does.
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>
#include <thread>

#include "runtime/measure/time_limit.h"
#include "tests/multiprocess_mpi/ranks.h"

namespace cerar::test {
namespace {

constexpr std::size_t kCount = 5000;

cerarResult_t call(cerarComm_t comm, std::size_t count = kCount, cerarRedOp_t op = cerarSum) {
  std::vector<float> vector(count, 1.0f);
  return cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32, op, comm, nullptr);
}

void expect(cerarResult_t result, std::initializer_list<cerarResult_t> expected) {
  for (const auto one : expected)
    if (result == one) return;
  fail(fmt::format("result {}: {}", static_cast<int>(result), cerarGetLastError()));
}

void different_calls(int rank, int ranks) {
  const Comm comm(MPI_COMM_WORLD);
  const int odd = ranks - 1;
  expect(call(comm, rank == odd ? kCount + 1 : kCount), {cerarMismatch});
  check_sentence({fmt::format("ranks 0 and {}", odd), "counts 5000 and 5001"});
  check_sum(comm, rank, ranks, kCount, true, 1);
  expect(call(comm, rank == 0 ? 0 : kCount), {cerarMismatch});
  check_sentence({"ranks 0 and 1", "counts 0 and 5000"});
  expect(call(comm, kCount, rank == odd ? cerarAverage : cerarSum), {cerarMismatch});
  check_sentence({"operations sum and average"});
  check_sum(comm, rank, ranks, kCount, false, 2);
}

void different_plans(const std::string& plans, int rank, int ranks) {
  const LoadedPlan plan(plans, rank == 1 ? "exact" : other_plan(ranks), ranks);
  cerarComm_t comm = nullptr;
  expect(cerarCommInitMpi(&comm, MPI_COMM_WORLD, plan, TimeLimit(5000)), {cerarMismatch});
  check_sentence({"ranks 0 and 1", "plans"});
  check(!comm, "a communicator was made");
}

// One rank cannot join; the others learn its reason and do not wait for the timeout.
void a_plan_for_other_ranks(const std::string& plans, int rank, int ranks) {
  const LoadedPlan plan(plans, "exact", rank == 0 ? 3 : ranks);
  cerarComm_t comm = nullptr;
  const auto result = cerarCommInitMpi(&comm, MPI_COMM_WORLD, plan, TimeLimit(20000));
  expect(result, {rank == 0 ? cerarInvalidPlan : cerarPeerFailed});
  check_sentence({"the plan is for 3 workers"});
}

// Named on every other rank, who may hear of it from the first that noticed; the late one learns it too.
void one_never_calls(const std::string& plans, int rank, int ranks) {
  const LoadedPlan plan(plans, other_plan(ranks), ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  {
    const Comm comm(MPI_COMM_WORLD, plan, 500);
    check_sum(comm, rank, ranks, kCount, true, 3);
    // Two calls because check_sum makes two.
    if (rank != 1) {
      expect(call(comm), {cerarTimeout, cerarPeerFailed});
      check_sentence({"rank(s) 1 ", "number 2", "500 ms", "plan local"});
    }
    MPI_Barrier(MPI_COMM_WORLD);
    expect(call(comm), {cerarPeerFailed});
    check_sentence({"rank(s) 1 "});
  }
  check_sum(Comm(MPI_COMM_WORLD, plan), rank, ranks, kCount, true, 4);
}

// Rank 1 stands still in the middle of a call: its neighbours notice, the others wait for ranks that wait
// themselves, and still everybody names rank 1. Long messages need both sides' attention to get through.
void one_stands_still(const std::string& plans, int rank, int ranks) {
  const LoadedPlan plan(plans, other_plan(ranks), ranks);
  {
    const Comm comm(MPI_COMM_WORLD, plan, 1000);
    check_sum(comm, rank, ranks, kCount, true, 5);
    if (rank == 1) {
      std::signal(SIGALRM, [](int) {
        timespec rest{.tv_sec = 2, .tv_nsec = 500000000};
        while (nanosleep(&rest, &rest) != 0) {
        }
      });
      const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20000}};
      setitimer(ITIMER_REAL, &soon, nullptr);
    }
    expect(call(comm, 16 << 20), {cerarTimeout, cerarPeerFailed});
    check_sentence({"rank(s) 1 ", "number 2", "1000 ms", "plan local"});
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check_sum(Comm(MPI_COMM_WORLD, plan), rank, ranks, 100000, true, 6);
}

// Rank 1 waits for rank 0, until a second thread of it has enough; every rank hears of it.
void one_aborts(int rank) {
  const Comm comm(MPI_COMM_WORLD, nullptr, 60000);
  check_sum(comm, rank, size_of(MPI_COMM_WORLD), kCount, true, 7);
  MPI_Barrier(MPI_COMM_WORLD);  // an abort ends calls that are still under way
  if (rank == 1) {
    std::chrono::steady_clock::time_point begun;
    std::thread aborts([&] {
      while (cerarCommPrepare(comm, 0, cerarFloat32, cerarSum) == cerarSuccess) std::this_thread::yield();
      begun = std::chrono::steady_clock::now();
      cerarCommAbort(comm);
    });
    auto result = cerarInvalidArgument;
    while (result == cerarInvalidArgument) result = call(comm);  // refused beside the other's question
    const auto took = std::chrono::steady_clock::now() - begun;
    expect(result, {cerarAborted});
    aborts.join();
    check_sentence({"rank 1 aborted its communicator", "number 2"});
    check(took < std::chrono::seconds(5), "it took {} ms",
          std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
    expect(call(comm), {cerarAborted});
  } else if (rank != 0) {
    expect(call(comm), {cerarPeerFailed});
    check_sentence({"rank 1 aborted its communicator"});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    expect(call(comm), {cerarPeerFailed});
    check_sentence({"rank 1 aborted its communicator"});
  }
}

// Rank 1 destroys its communicator after a call; the others want another one, and do not wait for the
// timeout.
void one_leaves(const std::string& plans, int rank, int ranks) {
  const LoadedPlan plan(plans, other_plan(ranks), ranks);
  {
    std::optional<Comm> comm(std::in_place, MPI_COMM_WORLD, plan, 60000);
    check_sum(*comm, rank, ranks, kCount, true, 8);
    MPI_Barrier(MPI_COMM_WORLD);  // what rank 1's leaving makes of the next call ends calls still under way
    if (rank == 1) comm.reset();
    const auto begun = std::chrono::steady_clock::now();
    if (rank != 1) {
      expect(call(*comm), {cerarPeerFailed});
      check_sentence({"rank 1 has left the communicator", "number 2", "plan local"});
    }
    const auto took = std::chrono::steady_clock::now() - begun;
    check(took < std::chrono::seconds(20), "it took {} s",
          std::chrono::duration_cast<std::chrono::seconds>(took).count());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check_sum(Comm(MPI_COMM_WORLD, plan), rank, ranks, kCount, true, 9);
}

// MPICH has 2048 communicators. Open MPI has more than a test can use up, and polls: where the cores are
// busy it takes long to make one.
#ifdef MPICH_VERSION
constexpr int kManyCommunicators = 3000;
#else
constexpr int kManyCommunicators = 100;
#endif

// Ranks that destroy one after the other: each communicator is freed once all have.
void many_leave(int rank, int ranks) {
  for (int i = 0; i < 5; ++i) {
    std::optional<Comm> comm(std::in_place, MPI_COMM_WORLD, nullptr, 20000);
    check_sum(*comm, rank, ranks, 10, true, 10);
    if (rank == i % ranks) comm.reset();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < kManyCommunicators; ++i) const Comm comm(MPI_COMM_WORLD);
  check_sum(Comm(MPI_COMM_WORLD), rank, ranks, kCount, true, 11);
}

// A rank that never asks for a communicator.
void one_never_joins(int rank) {
  cerarComm_t comm = nullptr;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  if (rank != 0) {
    expect(cerarCommInitMpi(&comm, copy, nullptr, TimeLimit(300)), {cerarTimeout});
    check_sentence({"not all", "300 ms"});
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void bad_arguments() {
  cerarComm_t comm = nullptr;
  expect(cerarCommInitMpi(&comm, MPI_COMM_NULL, nullptr, nullptr), {cerarInvalidArgument});
  check_sentence({"MPI_COMM_NULL"});
  expect(cerarCommInitMpi(nullptr, MPI_COMM_WORLD, nullptr, nullptr), {cerarInvalidArgument});
  check_sentence({"comm is a null pointer"});
  expect(cerarCommInitMpi(&comm, MPI_COMM_WORLD, nullptr, TimeLimit(-1)), {cerarInvalidArgument});
  check_sentence({"timeout_ms is -1"});
}

}  // namespace

void faults(const std::string& plans) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  bad_arguments();
  different_calls(rank, ranks);
  different_plans(plans, rank, ranks);
  a_plan_for_other_ranks(plans, rank, ranks);
  one_never_calls(plans, rank, ranks);
  one_stands_still(plans, rank, ranks);
  one_aborts(rank);
  one_leaves(plans, rank, ranks);
  many_leave(rank, ranks);
  one_never_joins(rank);
}

}  // namespace cerar::test
