#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/measure/measure.h"

namespace cerar::runtime {

/// The communicators of a rank of a job.
struct JobComms {
  UniqueComm measured;
  UniqueComm ring;               ///< to measure beside it; null where there is none
  cerarComm_t mixing = nullptr;  ///< exact, with which ranks combine what they measured; it may be `ring`
};

/// One rank of a job whose ranks measure by themselves: processes, or threads with a GPU each.
class JobRank {
 public:
  using MakeVectors = std::function<std::unique_ptr<CallVectors>()>;

  /// `make_vectors`: for calls of `measured` and `ring`; `make_mixed`: of `mixing`.
  JobRank(int rank, int ranks, JobComms comms, const MakeVectors& make_vectors = make_host_vectors,
          const MakeVectors& make_mixed = make_host_vectors);

  int rank() const { return rank_; }
  int size() const { return ranks_; }
  const JobComms& comms() const { return comms_; }
  CallVectors& vectors() const { return *vectors_; }

  /// The numbers of every rank, [rank][...], unchanged. Every rank calls it, with as many.
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) const;

  /// Returns when every rank has called it.
  void meet() const;

  /// The exact sum or average over ranks. Every rank calls it.
  std::vector<float> combine(const std::vector<float>& mine, cerarRedOp_t op) const;

 private:
  int rank_, ranks_;
  JobComms comms_;
  std::unique_ptr<CallVectors> vectors_, mixed_;
};

/// One for the plan of a directory and one for the exact ring, which mixes as well. `make_comm` makes a
/// communicator for a plan, or for the ring where it is null; every rank calls it for the plan first. An
/// empty directory: no plan, both run the ring. Throws what the C API reports.
JobComms make_job_comms(const std::string& plan_directory,
                        const std::function<cerarResult_t(cerarComm_t* comm, cerarPlan_t plan)>& make_comm);

/// As for ranks of one process (measure.h); every rank calls them alike and gets the same answer.
Errors measure_errors(const JobRank& rank, const MeasureOptions& options);
double measure_time_us(const JobRank& rank, cerarComm_t comm, const MeasureOptions& options, int warmups,
                       int iterations);

}  // namespace cerar::runtime
