#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/measure/call_vectors.h"

namespace cerar::runtime {

/// Runs `body(rank)` on a thread per rank and waits for all; rethrows the first error: those of other ranks
/// may be its consequences. Throws `system`, before any begins, where the system refuses a thread.
void run_ranks(int ranks, const std::function<void(int rank)>& body);

/// Where the threads of run_ranks wait for each other, unless one of them has failed.
class RankMeeting {
 public:
  explicit RankMeeting(int ranks) : ranks_(ranks) {}

  /// Returns when every rank has called it. Where that can no longer be it throws why.
  void meet();
  /// This rank comes no more.
  void fail(std::exception_ptr cause);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const int ranks_;
  int present_ = 0, round_ = 0;
  std::exception_ptr cause_;
};

struct PlanFree {
  void operator()(cerarPlan_t plan) const { cerarPlanFree(plan); }
};
using UniquePlan = std::unique_ptr<cerarPlan, PlanFree>;

/// Null for an empty name. Throws what the C API reports.
UniquePlan load_plan_at(const std::string& directory);

/// Communicators of one process, one per rank, made from a plan directory or, without one, for the built-in
/// ring.
class LocalRanks {
 public:
  /// Throws what the C API reports.
  LocalRanks(const std::string& plan_directory, int ranks, int timeout_ms = 0);
  /// From a plan that stays the caller's.
  LocalRanks(cerarPlan_t plan, int ranks, int timeout_ms = 0);
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  int size() const { return static_cast<int>(comms_.size()); }
  cerarComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

  void run(const std::function<void(int rank)>& body) const { run_ranks(size(), body); }

 private:
  std::vector<cerarComm_t> comms_;
};

}  // namespace cerar::runtime
