#include "runtime/base/error.h"
#include "runtime/bench/comparison.h"

namespace cerar::runtime {

std::string program_name() { return "cerar-bench"; }

void over_mpi(const Arguments&, const std::function<void(const Comparison&)>&) {
  throw Error(
      ErrorCode::unsupported,
      "--transport is mpi, but this program was built without MPI; start cerar-bench-mpi with mpirun.");
}

}  // namespace cerar::runtime
