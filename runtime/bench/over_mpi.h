#pragma once

#include "runtime/bench/contest.h"

namespace cerar::runtime {

/// This process as a rank of MPI_COMM_WORLD. Throws `unsupported` in a program that was not built with MPI.
void over_mpi(const Arguments& arguments, const std::function<void(const Contest&)>& body);

}  // namespace cerar::runtime
