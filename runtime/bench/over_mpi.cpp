#include <cerar_mpi.h>

#include "runtime/bench/comparison.h"

namespace cerar::runtime {
namespace {

struct Mpi {
  Mpi() { MPI_Init(nullptr, nullptr); }
  ~Mpi() { MPI_Finalize(); }
};

}  // namespace

std::string program_name() { return "cerar-bench-mpi"; }

void over_mpi(const Arguments& arguments, const std::function<void(const Comparison&)>& body) {
  const Mpi mpi;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const JobRank self(rank, ranks, make_job_comms(arguments.plan, [](cerarComm_t* comm, cerarPlan_t plan) {
                       return cerarCommInitMpi(comm, MPI_COMM_WORLD, plan, nullptr);
                     }));
  body(job_comparison("mpi (one process per rank)", self));
}

}  // namespace cerar::runtime
