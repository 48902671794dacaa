// The application goes on using MPI: before, between and during all-reduces, on the same communicator, with
// tags that are in use here too, and from a second thread where MPI allows it.
#include <atomic>
#include <thread>

#include "tests/multiprocess_mpi/ranks.h"

namespace cerar::test {
namespace {

constexpr int kTags = 6;  // those of the transport and some more

// Messages that are under way while the all-reduce runs, in the direction of the ring and against it.
struct Pending {
  explicit Pending(int round) : rank(rank_in(MPI_COMM_WORLD)), ranks(size_of(MPI_COMM_WORLD)), round(round) {
    for (int tag = 0; tag < kTags; ++tag)
      for (const int step : {1, ranks - 1}) {
        auto& [in, out] = buffers[static_cast<std::size_t>(2 * tag + (step == 1 ? 0 : 1))];
        in.assign(length(tag), -1);
        out.assign(length(tag), value(rank, tag));
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_INT, (rank + ranks - step) % ranks, tag,
                  MPI_COMM_WORLD, &requests.emplace_back());
        MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_INT, (rank + step) % ranks, tag,
                  MPI_COMM_WORLD, &requests.emplace_back());
      }
  }

  void finish() {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int tag = 0; tag < kTags; ++tag)
      for (const int step : {1, ranks - 1})
        for (const int x : buffers[static_cast<std::size_t>(2 * tag + (step == 1 ? 0 : 1))].first)
          check(x == value((rank + ranks - step) % ranks, tag),
                "the application's message {} of tag {} is damaged", x, tag);
  }

  // Short and long ones: some go at once, some by agreement.
  static std::size_t length(int tag) { return tag % 2 == 0 ? 3 : 100000; }
  int value(int sender, int tag) const { return 1000 * round + 10 * sender + tag; }

  int rank, ranks, round;
  std::vector<MPI_Request> requests;
  std::pair<std::vector<int>, std::vector<int>> buffers[2 * kTags];
};

void pending_messages(cerarComm_t comm) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < 3; ++round) {
    Pending pending(round);
    check_sum(comm, rank, ranks, 50001, true, static_cast<std::uint64_t>(round) + 10);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == ranks * (ranks - 1) / 2, "MPI_Allreduce gives {}", sum);
    pending.finish();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Two communicators from two threads, and with MPI_THREAD_MULTIPLE a third thread of the application's own.
void several_threads(const std::string& plans) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  check(level >= MPI_THREAD_SERIALIZED, "MPI gives thread level {} only", level);
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  const LoadedPlan plan(plans, other_plan(ranks), ranks);
  const Comm first(MPI_COMM_WORLD, plan), second(MPI_COMM_WORLD);
  std::string faults[3];
  const auto run = [&](int thread, auto body) {
    return std::thread([&faults, thread, body] {
      try {
        for (int i = 0; i < 10; ++i) body(i);
      } catch (const std::exception& error) {
        faults[thread] = error.what();
      }
    });
  };
  std::vector<std::thread> threads;
  threads.push_back(run(0, [&](int i) { check_sum(first, rank, ranks, 12000, true, 20 + i); }));
  threads.push_back(run(1, [&](int i) { check_sum(second, rank, ranks, 300 + i, false, 40 + i); }));
  if (level == MPI_THREAD_MULTIPLE)
    threads.push_back(run(2, [&](int i) {
      Pending pending(100 + i);
      pending.finish();
    }));
  for (auto& thread : threads) thread.join();
  for (const auto& fault : faults) check(fault.empty(), "in a thread: {}", fault);
}

}  // namespace

void traffic(const std::string& plans) {
  const LoadedPlan plan(plans, "differential", size_of(MPI_COMM_WORLD));
  pending_messages(Comm(MPI_COMM_WORLD, plan));
  pending_messages(Comm(MPI_COMM_WORLD));
  several_threads(plans);
}

}  // namespace cerar::test
