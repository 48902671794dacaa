#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/measure/call_vectors.h"

namespace cerar::runtime {

/// Runs `body(rank)` on a thread per rank and waits for all; rethrows the first error: those of other ranks
/// may be its consequences.
void run_ranks(int ranks, const std::function<void(int rank)>& body);

/// Communicators of one process, one per rank, made from a plan directory or, without one, for the built-in
/// ring.
class LocalRanks {
 public:
  /// Throws what the C API reports.
  LocalRanks(const std::string& plan_directory, int ranks, int timeout_ms = 0);
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
