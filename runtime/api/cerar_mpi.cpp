#include "runtime/api/cerar_mpi.h"

#include "runtime/api/sibling.h"
#include "runtime/transport/mpi/mpi_transport.h"

cerarResult_t cerarCommInitMpi(cerarComm_t* comm, MPI_Comm mpi, cerarPlan_t plan, int timeout_ms) {
  using namespace cerar::runtime;
  const auto make = [mpi](const cerar::Timeouts& timeouts) { return make_mpi_transport(mpi, timeouts); };
  return join_with(comm, make, plan, timeout_ms);
}
