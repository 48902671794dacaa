// CASE PLANS, started by mpirun: every rank exits with 1, and says why, when something does not hold.
#include <cstdio>
#include <cstring>

#include "tests/multiprocess_mpi/ranks.h"

namespace {

using namespace cerar::test;

int uninitialised() {
  cerarComm_t comm = nullptr;
  if (cerarCommInitMpi(&comm, MPI_COMM_WORLD, nullptr, nullptr) == cerarInvalidArgument && !comm &&
      std::strstr(cerarGetLastError(), "MPI is not initialised"))
    return 0;
  std::fprintf(stderr, "MPI is not initialised: %s\n", cerarGetLastError());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "uninitialised") return uninitialised();
  if (argc != 3) return 2;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int status = 0;
  try {
    if (name == "sums")
      sums(argv[2]);
    else if (name == "traffic")
      traffic(argv[2]);
    else if (name == "faults")
      faults(argv[2]);
    else
      fail("there is no such case");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s, rank %d: %s\n", name.c_str(), rank_in(MPI_COMM_WORLD), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this one
  }
  MPI_Finalize();
  return status;
}
