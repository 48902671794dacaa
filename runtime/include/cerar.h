/* CERAR: coded, approximate ring all-reduce. C API, in the shape of NCCL's.
 *
 * Every function returns a cerarResult_t; none prints, exits or throws. After an error, cerarGetLastError()
 * returns one sentence, per thread, that names the thing, the value and what to do.
 *
 * Calls do not depend on the caller's floating-point environment, locale, signal handlers or cancellation
 * state. They leave them, and errno, unchanged.
 *
 * Threads and processes:
 *
 *   function                          may be called
 *   --------------------------------  ---------------------------------------------------------------------
 *   cerarAllReduce, cerarCommPrepare  by one thread at a time for each communicator; a second one gets
 *                                     cerarInvalidArgument. Different communicators: by any threads.
 *   cerarCommAbort, cerarCommDestroy  by any thread, also during a call of another one
 *   cerarCommGetAsyncError,           by any thread, also during a call of another one
 *   cerarCommLastCall,
 *   cerarCommRank, cerarCommSize
 *   cerarCommInit*                    by any thread; every rank of the communicator calls. Not inside
 *                                     ncclGroupStart/End.
 *   cerarPlanLoad, cerarPlanWorkers   by any thread
 *   cerarPlanFree                     by any thread, when no other function uses the plan
 *   cerarUseNccl                      before the first GPU communicator and the first NCCL id are made
 *   cerarGet*                         by any thread, at any time
 *
 *   No function may be called from a signal handler. A destroyed handle is refused. A communicator belongs to
 *   the process that made it: a forked child makes its own.
 *
 * Environment: CERAR_TIMEOUT is the default of both timeouts, in seconds. CERAR_DEBUG=info writes a log of
 * the library, plans, transports, addresses, variants and errors, with the rank in each line, to stderr or to
 * the file CERAR_DEBUG_FILE (%h: host, %p: process). CERAR_NCCL_LIBRARY: see cerarUseNccl. */
#ifndef CERAR_H
#define CERAR_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CERAR_API
#else
#define CERAR_API __attribute__((visibility("default")))
#endif

/* The version of this header: MAJOR * 10000 + MINOR * 100 + PATCH. */
#define CERAR_VERSION_MAJOR 0
#define CERAR_VERSION_MINOR 1
#define CERAR_VERSION_PATCH 0
#define CERAR_VERSION (CERAR_VERSION_MAJOR * 10000 + CERAR_VERSION_MINOR * 100 + CERAR_VERSION_PATCH)

/* A caller in C may pass any int where an enumerator is expected, and gets an error. In C++ a value outside
 * an enumeration's range is undefined unless the enumeration has a fixed type. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define CERAR_INT : int
#else
#define CERAR_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CERAR_INT {
  cerarSuccess = 0,
  cerarInvalidArgument = 1, /* a pointer, count, type or operation that no plan could serve */
  cerarInvalidPlan = 2,     /* malformed, altered, or for another number of ranks or machine */
  cerarUnsupported = 3,     /* well-formed, but not offered by this build or plan */
  cerarMismatch = 4,        /* ranks passed different counts, types or operations; nothing was written */
  cerarTimeout = 5,         /* a peer did not come in time; the communicator is unusable */
  cerarPeerFailed = 6,      /* another rank reported an error; the communicator is unusable */
  cerarSystemError = 7,     /* files, memory, libraries */
  cerarInternalError = 8,   /* a defect in CERAR */
  cerarAborted = 9          /* cerarCommAbort or cerarCommDestroy of this rank ended the call */
} cerarResult_t;

/* The type of vectors. Sums are formed in f32 and rounded once. The plan decides the type of messages. */
typedef enum CERAR_INT { cerarFloat32 = 0, cerarFloat16 = 1, cerarBfloat16 = 2 } cerarDataType_t;
typedef enum CERAR_INT { cerarSum = 0, cerarAverage = 1 } cerarRedOp_t;

typedef struct cerarPlan* cerarPlan_t;
typedef struct cerarComm* cerarComm_t;

/* The version of the library that runs, encoded like CERAR_VERSION. */
CERAR_API cerarResult_t cerarGetVersion(int* version);

/* Loads a plan directory made by cerar-tune. Every file is read and verified here; the directory is not
 * needed afterwards. If another plan is moved into its place meanwhile, one of the two is loaded, never a
 * mixture. Communicators keep what they need of the plan: it may be freed while they live. */
CERAR_API cerarResult_t cerarPlanLoad(cerarPlan_t* plan, const char* directory);
CERAR_API cerarResult_t cerarPlanFree(cerarPlan_t plan);
CERAR_API cerarResult_t cerarPlanWorkers(cerarPlan_t plan, int* workers);

/* Options of a communicator. Initialise it with the macro, then set fields; every cerarCommInit* takes a
 * pointer to it, and NULL takes all defaults. Another size than the macro's, 0 for instance, is refused. */
typedef struct {
  size_t size;
  int timeout_ms;         /* limit of every wait for a peer in a call; 0: CERAR_TIMEOUT, or 10 minutes */
  int meeting_timeout_ms; /* limit of making the communicator; 0: CERAR_TIMEOUT, or 5 minutes */
} cerarCommConfig_t;
#define CERAR_COMM_CONFIG_INITIALIZER {sizeof(cerarCommConfig_t), 0, 0}

/* Makes `ranks` communicators for `ranks` threads of this process, and writes them to comms[0..ranks-1]. The
 * plan must be for as many workers; for one rank, any plan will do. NULL takes the exact ring, which needs no
 * plan. */
CERAR_API cerarResult_t cerarCommInitLocal(cerarComm_t* comms, int ranks, cerarPlan_t plan,
                                           const cerarCommConfig_t* config);

/* Between processes: cerarCommInitGloo in cerar_gloo.h, cerarCommInitMpi in cerar_mpi.h, in libraries of
 * their own.
 *
 * GPUs. The plan needs kernels for the device's architecture (cerar-tune --arch). Vectors lie in memory of
 * the communicator's device. Calls take a stream of it, a cudaStream_t or CUstream as void*; NULL is the
 * default stream. A call returns once it is enqueued. Work that is enqueued on the stream later sees the
 * result; cerarCommGetAsyncError reports errors that show later. The driver and NCCL are opened when the
 * first GPU communicator is made; cerarUnsupported says what is missing.
 *
 * Threads: calls of one communicator on several streams run one after the other. Where ranks are threads of
 * one process, allocating or freeing device memory may wait for kernels that wait for the allocating rank.
 * Let all ranks return from cerarCommPrepare before the first call, and free nothing during calls.
 *
 * NCCL: Do not call or create communicators inside ncclGroupStart/End: the group would delay messages, but
 * not kernels. The first call of each count, type and operation detects it. As with any two NCCL
 * communicators on one device, other communicators' work must be enqueued in the same order on every rank,
 * for instance on one stream. What the first call of each count, type and operation sets up runs behind the
 * stream's earlier work, and the call waits for it. cerarCommInit* and cerarCommPrepare take no stream: no
 * work of other communicators may be under way on the device then.
 *
 * Graphs: calls of NCCL communicators may be captured after cerarCommPrepare for their count, type and
 * operation. Until a capture ends, calls outside it are refused. A graph holds addresses inside the
 * communicator: destroy the graph first, also after an error, because NCCL's abort waits for it. Replays must
 * not overlap with other calls of the communicator; the caller's streams have to order them. Timeouts do not
 * cover replays. */

/* Takes NCCL's functions from look_up(name); NULL undoes it. Needed where an application links NCCL
 * statically. Otherwise CERAR uses the file that CERAR_NCCL_LIBRARY names, the libnccl.so.2 that the process
 * has loaded, functions that the process exports, or the libnccl.so.2 that the system finds, in this order.
 *
 * An ncclComm_t belongs to the copy of NCCL that made it. cerarCommInitNccl returns cerarUnsupported, naming
 * versions and files, when the process contains a copy of another version, or when CERAR had to open NCCL
 * itself. It does not check this where look_up chose the copy, or CERAR_NCCL_LIBRARY names a file that was
 * loaded before. */
CERAR_API cerarResult_t cerarUseNccl(void* (*look_up)(const char* name));

/* Makes the communicator of one rank, on the ranks and the device of `nccl`, an ncclComm_t as void*. Every
 * rank calls. CERAR works on a split of it: `nccl` stays the caller's. A failure here ends `nccl` only if it
 * was made with splitShare. With plan NULL, and at sizes for which the plan finds NCCL's own all-reduce
 * faster, calls use NCCL's own. Needs NCCL 2.18 or newer; before 2.19.1 its abort may hang when a rank is
 * lost. If a rank does not come, the others get cerarTimeout and must abort `nccl`, in which NCCL still waits
 * for it.
 *
 * timeout_ms also limits how long ranks wait for each other in the first call of each count, type and
 * operation, and the time from a call's start on its stream to its end. After a timeout the communicator is
 * unusable, and results of calls under way are not valid. */
CERAR_API cerarResult_t cerarCommInitNccl(cerarComm_t* comm, void* nccl, cerarPlan_t plan,
                                          const cerarCommConfig_t* config);

/* Like cerarCommInitNccl, on an NCCL communicator made here: one rank gets an id, and the caller carries it
 * to the other ranks. */
typedef struct {
  char bytes[128];
} cerarNcclId_t;
CERAR_API cerarResult_t cerarGetNcclId(cerarNcclId_t* id);
CERAR_API cerarResult_t cerarCommInitNcclId(cerarComm_t* comm, const cerarNcclId_t* id, int rank, int ranks,
                                            int device, cerarPlan_t plan, const cerarCommConfig_t* config);

/* Makes `ranks` communicators for `ranks` threads of this process, rank i on devices[i]; ranks may share a
 * device. Messages are copies between devices. A call returns once the neighbours' threads have called as
 * well. It cannot be captured. plan must not be NULL. */
CERAR_API cerarResult_t cerarCommInitGpus(cerarComm_t* comms, int ranks, const int* devices, cerarPlan_t plan,
                                          const cerarCommConfig_t* config);

/* This rank's number, from 0, and the number of ranks. */
CERAR_API cerarResult_t cerarCommRank(cerarComm_t comm, int* rank);
CERAR_API cerarResult_t cerarCommSize(cerarComm_t comm, int* ranks);

/* Does what the first call of this count, type and operation would do first: compares them between the ranks,
 * loads kernels, allocates memory. Every rank calls. Later calls neither allocate nor wait for the device.
 * Where NCCL's own all-reduce is used, it makes one, on memory of that size that it frees again. On host
 * communicators it does nothing. */
CERAR_API cerarResult_t cerarCommPrepare(cerarComm_t comm, size_t count, cerarDataType_t type,
                                         cerarRedOp_t op);

/* Writes the error of calls that had already returned to *error, and its sentence to cerarGetLastError().
 * *error is cerarSuccess if there is none. */
CERAR_API cerarResult_t cerarCommGetAsyncError(cerarComm_t comm, cerarResult_t* error);

/* Ends the communicator; may be called any number of times. Its call under way returns cerarAborted, on hosts
 * within 100 ms; every later call does so at once. Other ranks get cerarPeerFailed with a sentence that names
 * this rank (on GPUs in other processes, what NCCL reports). Destroy the communicator afterwards. */
CERAR_API cerarResult_t cerarCommAbort(cerarComm_t comm);

/* Frees the communicator, and tells the other ranks where they are processes. Messages sent before still
 * reach them. A call under way in another thread is aborted and waited for. */
CERAR_API cerarResult_t cerarCommDestroy(cerarComm_t comm);

/* Sums (or averages) `count` elements of `type` over all ranks. send == recv works in place; any other
 * overlap is refused. Pointers need the alignment of their type. On hosts, the call blocks. `stream` is for
 * GPU communicators, and NULL for others.
 *
 * Accuracy: where c divides N and messages are f32, each element is a sum in f32, within N x 2^-24 of the sum
 * of magnitudes, independent of other elements. With other c results are approximate, within the plan's
 * claim, which is relative to the elements that are mixed with it. Where c = N, all ranks end with the same
 * bits. Otherwise results differ between ranks by about the claim, and exact sums by their rounding, because
 * each rank adds in another order. cerarCallInfo_t says which was the case.
 *
 * Range: rings in f32 sum what stays within f32, also for averages, which are divided at the end. All other
 * codes and messages give finite results where each magnitude is below 1e30. In messages of f16, sums are
 * finite where the sum of magnitudes stays below 64000, averages where each magnitude does. There, numbers
 * lose precision below 6e-5 times the gain of the message (N for averages, about the number of mixed
 * components for codes). */
CERAR_API cerarResult_t cerarAllReduce(const void* send, void* recv, size_t count, cerarDataType_t type,
                                       cerarRedOp_t op, cerarComm_t comm, void* stream);

/* What the last successful all-reduce of a communicator did. Initialise it with the macro: `size` tells
 * cerarCommLastCall how much the caller has room for. A program compiled with an older header passes a
 * smaller size, and only as much is written; a size of 0, or greater than this library knows, is refused. */
typedef struct {
  size_t size;
  /* Its name in the plan, "baseline" for NCCL's own all-reduce; empty when nothing had to be sent. */
  char variant[64];
  int components;         /* c; divisors of N are exact in messages of f32 */
  int lanes;              /* parts that ran staggered */
  int identical;          /* 1: every rank has the same bits; 0: they may differ, or baseline is 1 */
  int baseline;           /* 1: NCCL's own all-reduce did it */
  uint64_t call_index;    /* number of the call on this communicator, from 0 */
  uint64_t scratch_bytes; /* memory used beyond the caller's vectors */
  uint64_t sent_bytes;    /* payload sent by this rank */
  uint64_t messages;      /* sent by this rank */
  uint64_t launches;      /* of GPU kernels */
  double claimed_error;   /* relative rms error that the plan claims for this call, with the rounding of the
                           * result for vectors of 16 bits. Plain codes of few terms claim less for vectors of
                           * f32 out of place, because the rank's own part has no error of the code. */
  double claimed_noise;   /* the part of claimed_error that is rounding of messages */
} cerarCallInfo_t;
#define CERAR_CALL_INFO_INITIALIZER {sizeof(cerarCallInfo_t), "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
CERAR_API cerarResult_t cerarCommLastCall(cerarComm_t comm, cerarCallInfo_t* info);

/* Between CERAR's own libraries, not for applications: libcerar_gloo and libcerar_mpi, which must come from
 * the same build, join ranks with it. `make` returns the transport; `words` name it. */
typedef void* (*cerarTransportMaker_t)(void* context, const void* offer);
CERAR_API cerarResult_t cerarCommInitTransport(cerarComm_t* comm, const char* build, const char* words,
                                               cerarTransportMaker_t make, void* context, cerarPlan_t plan,
                                               const cerarCommConfig_t* config);

CERAR_API const char* cerarGetErrorString(cerarResult_t result);
/* The calling thread's last error; empty if there was none. Valid until the thread's next failing call. */
CERAR_API const char* cerarGetLastError(void);

#ifdef __cplusplus
}
#endif

#endif
