#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>

#include "runtime/base/environment.h"
#include "runtime/host/transport.h"

namespace cerar::runtime {

/// The ranks of an MPI communicator, in its order, on MPI 3. Called by all of them.
///
/// * The communicator is duplicated, so that no message of the application meets one of these, whatever its
///   tag. Errors of MPI are returned as `system` with MPI's own sentence; the application's error handler is
///   not touched. When the transport ends after success, it tells the other ranks, and the duplicate is freed
///   once they all have said so: until then messages may be on the way, which must not reach a communicator
///   that gets its number. The destructor waits for that an eighth of `timeout`, 100 ms at most; what is left
///   is freed when this process makes or destroys another one. After a failure the duplicate is kept for
///   good.
/// * `timeout` limits every wait. A rank that has waited for half of it tells the others, so that who gives
///   up first names the rank that is missing, not one that waits itself; ranks that wait for a waiting one
///   give it half of `timeout` more.
/// * abort() cancels what is under way. MPI cannot cancel a message that is half across, nor need it cancel
///   one that was sent; abort() waits for those for an eighth of `timeout`, a second at most. See
///   holds_buffers().
/// * MPI knows no wait with a limit: waiting is looking, yielding and sleeping (Pause in mpi_call.h).
///   Progress is made only inside these functions and other calls of MPI.
/// * Threads: the level that MPI gives to the calling thread suffices. Two communicators may be used from two
///   threads with MPI_THREAD_SERIALIZED or above (below MPI_THREAD_MULTIPLE the calls of all transports take
///   turns, and the application's own calls of MPI must not run at the same time). They must be made one
///   after the other, in the same order on every rank.
///
/// Throws `invalid_argument` when MPI is not initialised or is finalised already, or for a null or
/// inter-communicator, and `timeout` when not all of its ranks call. Nothing tells then which did not: before
/// there is a communicator of our own, there is no way to ask.
std::unique_ptr<Transport> make_mpi_transport(MPI_Comm application, const Timeouts& timeouts);

}  // namespace cerar::runtime
