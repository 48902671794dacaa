#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/include/cerar_mpi.h"
#include "runtime/measure/measure.h"

namespace cerar::test {

/// Ends a case on this rank; main prints the text and fails.
[[noreturn]] void fail(const std::string& text);

template <typename... Values>
void check(bool holds, fmt::format_string<Values...> text, Values&&... values) {
  if (!holds) fail(fmt::format(text, std::forward<Values>(values)...));
}

/// Every word stands in this thread's last error.
void check_sentence(const std::vector<std::string>& words);

int rank_in(MPI_Comm mpi);
int size_of(MPI_Comm mpi);

/// A plan of make_plans for as many ranks; freed at the end.
class LoadedPlan {
 public:
  LoadedPlan(const std::string& directory, std::string_view name, int ranks);
  ~LoadedPlan() { cerarPlanFree(plan_); }
  LoadedPlan(const LoadedPlan&) = delete;
  LoadedPlan& operator=(const LoadedPlan&) = delete;
  operator cerarPlan_t() const { return plan_; }

 private:
  cerarPlan_t plan_ = nullptr;
};

/// Name of a plan other than "exact", approximate where there is such a code.
inline const char* other_plan(int ranks) { return ranks > 2 ? "differential" : "whole"; }

/// This rank's communicator; destroyed at the end.
class Comm {
 public:
  explicit Comm(MPI_Comm mpi, cerarPlan_t plan = nullptr, int timeout_ms = 20000);
  ~Comm() { cerarCommDestroy(comm_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  operator cerarComm_t() const { return comm_; }

 private:
  cerarComm_t comm_ = nullptr;
};

/// An all-reduce of `ranks` ranks' reproducible vectors, of which this process has `rank`'s; the output is
/// poisoned before. Its error relative to the sum in double: within the claim, and not vacuous where the plan
/// is approximate and the vector long; integers under exact plans come out bit for bit.
void check_sum(cerarComm_t comm, int rank, int ranks, std::size_t count, bool in_place, std::uint64_t seed);

/// The cases.
void sums(const std::string& plans);
void traffic(const std::string& plans);
void faults(const std::string& plans);

}  // namespace cerar::test
