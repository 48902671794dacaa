// Are sums between processes as exact as the plan claims, whatever the count, on parts of the processes, and
// many times in a row?
#include "tests/multiprocess_mpi/ranks.h"

namespace cerar::test {
namespace {

void every_count(const std::string& plans) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  for (const char* const name : {"differential", "plain", "exact", "whole"}) {
    if (ranks == 2 && (name == std::string_view("differential") || name == std::string_view("plain")))
      continue;
    const LoadedPlan plan(plans, name, ranks);
    const Comm comm(MPI_COMM_WORLD, plan);
    const auto row = static_cast<std::size_t>(ranks) * 8 * 32;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, row - 1, row, row + 1, std::size_t{60013}})
      check_sum(comm, rank, ranks, count, count % 2 == 0, 1);
  }
  check_sum(Comm(MPI_COMM_WORLD), rank, ranks, 200001, true, 2);  // no plan: the exact ring
}

// Two groups at the same time, with different plans, ranks in reverse order.
void on_halves(const std::string& plans) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  if (ranks < 4) return;
  const bool upper = rank >= ranks / 2;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, upper, -rank, &half);
  {
    const LoadedPlan plan(plans, upper ? other_plan(size_of(half)) : "exact", size_of(half));
    const Comm comm(half, plan);
    const Comm whole(MPI_COMM_WORLD);
    for (int i = 0; i < 5; ++i)
      check_sum(comm, rank_in(half), size_of(half), 20000 + (upper ? 7 * i : i), i % 2 == 0, 3);
    check_sum(whole, rank, ranks, 1000, true, 4);
  }
  MPI_Comm_free(&half);
}

void thousand_small_ones(const std::string& plans) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  const LoadedPlan plan(plans, "exact", ranks);
  const Comm comm(MPI_COMM_WORLD, plan);
  for (int i = 0; i < 1000; ++i) {
    std::vector<float> vector(static_cast<std::size_t>(1 + i % 97), static_cast<float>(i + rank));
    const auto expected = static_cast<float>(ranks * i + ranks * (ranks - 1) / 2);
    runtime::require_success(
        cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, cerarSum, comm, nullptr));
    for (const float x : vector) check(x == expected, "all-reduce {} gives {}, not {}", i, x, expected);
  }
}

}  // namespace

void sums(const std::string& plans) {
  every_count(plans);
  on_halves(plans);
  thousand_small_ones(plans);
}

}  // namespace cerar::test
