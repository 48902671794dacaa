#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/bench/peers/serve.h"

// bench_peers_mpi: one rank of MPI_Allreduce. Which algorithm that is, mpirun's settings say.
int main(int argc, char** argv) {
  using namespace cerar::bench;
  CLI::App app{"One rank of MPI_Allreduce; peers.py starts it with mpirun.", "bench_peers_mpi"};
  WorkerOptions options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    std::vector<float> data(options.count);
    Contestant contestant{.name = options.job};
    contestant.all_reduce = [&data] {  // errors end the job: MPI_ERRORS_ARE_FATAL is the default
      MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    };
    serve(options, rank, data, {contestant}, [] { MPI_Barrier(MPI_COMM_WORLD); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_peers_mpi: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
