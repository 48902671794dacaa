#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/measure/job_rank.h"

namespace cerar::runtime {

/// The command line of cerar-bench, as it was given.
struct Arguments {
  std::string plan, transport = "local", begin = "1M", end = "64M";
  double factor = 2;
  int iterations = 5, warmups = 1;
  std::string op = "sum", input = "normal", type = "f32";
  bool json = false;
  // For jobs of processes.
  std::optional<int> rank, size;
  std::string store, interface_name;
  std::vector<int> devices;  ///< of the ranks of this process; empty: not given
};

/// What is measured beside what, over the ranks of a transport, wherever they run.
struct Comparison {
  int ranks = 0;
  int ranks_here = 0;  ///< of this process: their vectors lie in its memory
  int ranks_beside =
      0;  ///< of all processes that take their memory from where this one does, this one included
  bool prints = true;                              ///< of one rank only
  std::string where;                               ///< for people: "local (threads of this process)"
  std::function<void(std::size_t bytes)> reserve;  ///< room for the largest vectors, before all calls
  std::function<Errors(const MeasureOptions&)> errors;
  std::function<double(const MeasureOptions&, int warmups, int iterations)> time_us;
  /// The exact all-reduce that the transport has without a plan, and its name; empty where it has none.
  std::string baseline_name = "exact ring";
  std::function<double(const MeasureOptions&, int warmups, int iterations)> baseline_time_us;
  cerarComm_t comm = nullptr;  ///< one that ran the calls measured
};

/// Makes the communicators of --transport and runs `body` in each thread that measures: one, or one for each
/// rank of this process. Throws `unsupported` for an unknown name, `invalid_argument` for what the transport
/// needs and was not given, and what the C API reports.
void run_comparison(const Arguments& arguments, const std::function<void(const Comparison&)>& body);

/// The comparison over a job, as one of its ranks, which must outlive it.
Comparison job_comparison(const std::string& where, const JobRank& rank);

/// Throws `invalid_argument` unless --rank, --size and --store describe a rank of a job of processes.
void require_job(const Arguments& arguments);

/// This process as a rank of a job over Gloo. Throws `unsupported` in a program that was built without Gloo.
void over_gloo(const Arguments& arguments, const std::function<void(const Comparison&)>& body);

/// This process as a rank of MPI_COMM_WORLD. Throws `unsupported` in a program that was not built with MPI.
void over_mpi(const Arguments& arguments, const std::function<void(const Comparison&)>& body);

/// The program's name, which differs with over_mpi.
std::string program_name();

/// "local: ranks are threads of this process; ...": a sentence for each transport.
std::string transport_help();

}  // namespace cerar::runtime
