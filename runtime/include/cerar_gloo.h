/* CERAR between processes over TCP: libcerar_gloo, beside libcerar. Gloo's connections carry the messages. */
#ifndef CERAR_GLOO_H
#define CERAR_GLOO_H

#include "cerar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the communicator of one rank of a job. Its `ranks` ranks are processes, on one machine or many, and
 * all of them call.
 *
 * store: where the ranks find each other; all of them name the same one. "file:DIRECTORY" is a directory that
 * all ranks see. "tcp:HOST:PORT" ("tcp:[::1]:PORT", "tcp://HOST:PORT") is served by rank 0 while the
 * communicator is made; use it in a trusted network only. Communicators made at the same time need different
 * stores.
 *
 * interface_name: the network interface, or an address of this host, that the other ranks can reach. NULL
 * takes the interface that reaches HOST. With a directory, NULL takes loopback if all ranks are on one
 * machine; otherwise an address whose interface is up and is not loopback: first the address that the host's
 * name leads to, then that of the default route, then any other.
 *
 * plan: as for cerarCommInitLocal. meeting_timeout_ms limits the whole call. When it fails on one rank, it
 * fails on every rank that can still be reached. Returns cerarTimeout naming the ranks that did not come,
 * and cerarMismatch when ranks have different plans.
 *
 * After an error of an all-reduce, destroy the communicator and make a new one with the ranks that are
 * left. */
CERAR_API cerarResult_t cerarCommInitGloo(cerarComm_t* comm, int rank, int ranks, cerarPlan_t plan,
                                          const char* store, const char* interface_name,
                                          const cerarCommConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif
