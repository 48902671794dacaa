#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/bench/measure.h"

namespace cerar::runtime {

/// One rank of a job whose ranks are processes: a communicator with the plan, and one for the exact ring,
/// with which ranks also combine what they measured.
class JobRank {
 public:
  /// `make_comm` makes a communicator for a plan, or for the exact ring where it is null; every rank calls it
  /// for the plan first.
  using MakeComm = std::function<cerarResult_t(cerarComm_t* comm, cerarPlan_t plan)>;

  /// An empty directory: no plan, both communicators run the ring. Throws what the C API reports.
  JobRank(int rank, int ranks, const std::string& plan_directory, const MakeComm& make_comm);
  ~JobRank();
  JobRank(const JobRank&) = delete;
  JobRank& operator=(const JobRank&) = delete;

  int rank() const { return rank_; }
  int size() const { return ranks_; }
  cerarComm_t comm() const { return comm_; }
  cerarComm_t ring() const { return ring_; }

  /// The numbers of every rank, [rank][...], unchanged. Every rank calls it, with as many.
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) const;

 private:
  int rank_, ranks_;
  cerarComm_t comm_ = nullptr, ring_ = nullptr;
};

/// As for ranks of one process (measure.h); every rank calls them alike and gets the same answer.
Errors measure_errors(const JobRank& rank, const MeasureOptions& options);
double measure_time_us(const JobRank& rank, cerarComm_t comm, const MeasureOptions& options, int warmups,
                       int iterations);

}  // namespace cerar::runtime
