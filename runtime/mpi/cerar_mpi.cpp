#include "runtime/include/cerar_mpi.h"

#include <cstring>

#include "runtime/api/sibling.h"
#include "runtime/mpi/transport.h"

cerarResult_t cerarCommInitMpi(cerarComm_t* comm, MPI_Comm mpi, cerarPlan_t plan,
                               const cerarCommConfig_t* config) {
  using namespace cerar::runtime;
  const auto make = [mpi](const cerar::Timeouts& timeouts) { return make_mpi_transport(mpi, timeouts); };
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(words, &length);  // may be asked before MPI_Init
  words[std::strcspn(words, "\n,")] = '\0';
  return join_with(comm, words, make, plan, config);
}
