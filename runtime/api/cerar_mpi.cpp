#include "runtime/api/cerar_mpi.h"

#include "runtime/api/comm.h"
#include "runtime/api/guard.h"
#include "runtime/transport/mpi/mpi_transport.h"

cerarResult_t cerarCommInitMpi(cerarComm_t* comm, MPI_Comm mpi, cerarPlan_t plan, int timeout_ms) {
  using namespace cerar::runtime;
  return guard([&] {
    require(comm, "comm");
    *comm = nullptr;
    *comm = join_comm(make_mpi_transport(mpi, checked_timeouts(timeout_ms)), plan).release();
  });
}
