/* CERAR between MPI processes: libcerar_mpi, beside libcerar. Build and run it with one MPI implementation:
 * their binary interfaces differ. */
#ifndef CERAR_MPI_H
#define CERAR_MPI_H

#include <mpi.h>

#include "cerar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This rank's communicator for the ranks of `mpi`, in its order; called by all of them, after MPI_Init. `mpi`
 * is duplicated and remains the application's: its messages and these never meet. The plan must be for as
 * many workers, and the same on all ranks; NULL takes the exact ring. timeout_ms limits every wait for a
 * peer; 0 as for cerarCommInitLocal. Destroy communicators before MPI_Finalize.
 *
 * Two communicators may be used from two threads when MPI provides MPI_THREAD_SERIALIZED or above; with less
 * than MPI_THREAD_MULTIPLE the application's other threads must not call MPI meanwhile. Communicators are
 * made one after the other, in the same order on every rank. cerarCommAbort may be called from any thread;
 * below MPI_THREAD_MULTIPLE it leaves it to the thread that calls, or destroys the communicator, to tell the
 * other ranks. */
CERAR_API cerarResult_t cerarCommInitMpi(cerarComm_t* comm, MPI_Comm mpi, cerarPlan_t plan, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
