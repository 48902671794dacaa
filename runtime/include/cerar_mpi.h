/* CERAR between MPI processes: libcerar_mpi, beside libcerar. Build and run it with one MPI implementation:
 * their binary interfaces differ. */
#ifndef CERAR_MPI_H
#define CERAR_MPI_H

#include <mpi.h>

#include "cerar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes this rank's communicator for the ranks of `mpi`, in its order. All of them call, after MPI_Init.
 * `mpi` is duplicated and stays the application's: its messages and CERAR's never meet. The plan must be for
 * as many workers, and the same on all ranks; NULL takes the exact ring. Destroy communicators before
 * MPI_Finalize.
 *
 * Make communicators one after the other, in the same order on every rank. Two threads may use two
 * communicators when MPI provides MPI_THREAD_SERIALIZED or above; below MPI_THREAD_MULTIPLE, the
 * application's other threads must not call MPI meanwhile. cerarCommAbort may be called from any thread;
 * below MPI_THREAD_MULTIPLE, the thread that calls or destroys the communicator tells the other ranks. */
CERAR_API cerarResult_t cerarCommInitMpi(cerarComm_t* comm, MPI_Comm mpi, cerarPlan_t plan,
                                         const cerarCommConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif
