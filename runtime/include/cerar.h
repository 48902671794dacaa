/* CERAR: coded, approximate ring all-reduce. C API, in the shape of NCCL's.
 *
 * Every function returns a cerarResult_t; none prints, exits or throws. After an error, cerarGetLastError()
 * gives one sentence, per thread, that names the thing, the value and what to do.
 *
 * Calls do not depend on their caller's floating-point environment, locale, signal handlers or cancellation,
 * and leave them, and errno, as they were. A communicator belongs to the process that made it: a child that
 * was forked later makes its own. One thread at a time calls with a communicator; a second one is refused, as
 * is a handle that is destroyed. cerarCommAbort, cerarCommDestroy, cerarCommGetAsyncError and
 * cerarCommLastCall may be called meanwhile, from any thread.
 *
 * The environment: CERAR_TIMEOUT, see below; CERAR_DEBUG=info writes a log of the library, plans, transports,
 * addresses, variants and errors, a line for each with its rank, to stderr or to the file CERAR_DEBUG_FILE
 * (%h stands for the host, %p for the process). */
#ifndef CERAR_H
#define CERAR_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CERAR_API
#else
#define CERAR_API __attribute__((visibility("default")))
#endif

/* A caller in C may pass any int where an enumerator is meant, and gets a sentence. C++ may not even look at
 * a value outside of an enumeration's range, unless the enumeration has a type. */
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

/* Of vectors; sums are formed in f32 and rounded once. Which type the messages have is the plan's choice. */
typedef enum CERAR_INT { cerarFloat32 = 0, cerarFloat16 = 1, cerarBfloat16 = 2 } cerarDataType_t;
typedef enum CERAR_INT { cerarSum = 0, cerarAverage = 1 } cerarRedOp_t;

typedef struct cerarPlan* cerarPlan_t;
typedef struct cerarComm* cerarComm_t;

/* Loads a plan directory made by cerar-tune, all or nothing: every file is read and verified here, and
 * nothing of the directory is needed afterwards. While another plan takes its place, the one or the other is
 * loaded. Communicators keep what they need of the plan: it may be freed while they live. */
CERAR_API cerarResult_t cerarPlanLoad(cerarPlan_t* plan, const char* directory);
CERAR_API cerarResult_t cerarPlanFree(cerarPlan_t plan);
CERAR_API cerarResult_t cerarPlanWorkers(cerarPlan_t plan, int* workers);

/* `ranks` communicators for `ranks` threads of this process, written to comms[0..ranks-1]. The plan must be
 * for as many workers (one rank needs no plan made for one: any plan will do); NULL takes the exact ring,
 * which needs none. timeout_ms limits every wait for a peer; 0 takes the environment variable CERAR_TIMEOUT
 * (seconds), or without it 5 minutes for ranks to meet and 10 for each wait in a call. */
CERAR_API cerarResult_t cerarCommInitLocal(cerarComm_t* comms, int ranks, cerarPlan_t plan, int timeout_ms);

/* GPUs. The plan needs kernels for the device's architecture (cerar-tune --arch). Vectors lie in memory of
 * the communicator's device, and calls take a stream of it, a cudaStream_t or CUstream as void*; NULL is the
 * default stream. A call returns once it is enqueued: the result is there for what is enqueued on the stream
 * later, and errors that show later are asked for with cerarCommGetAsyncError. The driver and NCCL are opened
 * when the first such communicator is made, and cerarUnsupported says what is missing.
 *
 * Threads: calls of one communicator on several streams run one after the other. Where ranks are threads of
 * one process, allocating and freeing device memory, by whomever, may wait for kernels that wait for the rank
 * that allocates: let all ranks come out of cerarCommPrepare before the first call, and free nothing while
 * calls are under way.
 *
 * NCCL: neither calls nor the making of communicators may lie between ncclGroupStart and ncclGroupEnd, which
 * put off a call's messages but not its kernels; the first call of each count, type and operation says so. As
 * with any two communicators of NCCL's on one device, work on another one must come in the same order on
 * every rank, for instance on the same stream: also what the first call of each count, type and operation
 * does besides comes behind what its stream holds, and waits for that. Making communicators and
 * cerarCommPrepare take no stream, so nothing of others may be under way on the device then.
 *
 * Graphs: calls may be captured from NCCL communicators, once cerarCommPrepare was called for their count,
 * type and operation; until a capture ends, calls outside of it are refused. A graph holds addresses inside
 * the communicator: destroy it first, also after an error, since NCCL's abort waits for that. Replays and
 * other calls of the communicator must not overlap, which the caller's streams see to; timeouts do not cover
 * replays. */

/* Takes NCCL's functions from look_up(name), before the first GPU communicator and the first id are made;
 * NULL takes the choice back. Needed where an application links NCCL statically: otherwise CERAR uses the
 * file that CERAR_NCCL_LIBRARY names, or the libnccl.so.2 that the process has loaded, or functions that it
 * exports, or the libnccl.so.2 that the system finds. An ncclComm_t belongs to the copy that made it:
 * cerarCommInitNccl returns cerarUnsupported, naming versions and files, when a copy of another version is in
 * the process as well, or when none was to be seen before CERAR opened one. Not where the copy was chosen by
 * look_up, or by CERAR_NCCL_LIBRARY with a file that was loaded before. */
CERAR_API cerarResult_t cerarUseNccl(void* (*look_up)(const char* name));

/* The communicator of one rank, on the ranks and the device of `nccl`, an ncclComm_t as void*. Every rank
 * calls. Works on a communicator split from it: `nccl` stays the caller's, and is ended by a failure here
 * only where it was made to share its resources with what is split from it (splitShare). With plan NULL, and
 * at sizes for which the plan finds NCCL's own all-reduce faster, that is what calls do. Needs NCCL 2.18 or
 * newer; before 2.19.1 its abort may hang when a rank is lost. Where a rank does not come here, the others
 * get cerarTimeout, and must abort `nccl`, in which NCCL goes on waiting for it. timeout_ms limits how long
 * ranks wait for each other, here, in the first call of each count, type and operation, and from the moment a
 * call begins on its stream; 0 as for cerarCommInitLocal. After that the communicator is unusable, and
 * results of calls under way are not valid. */
CERAR_API cerarResult_t cerarCommInitNccl(cerarComm_t* comm, void* nccl, cerarPlan_t plan, int timeout_ms);

/* The same on an NCCL communicator made here: one rank makes an id, the caller carries it to the others. */
typedef struct {
  char bytes[128];
} cerarNcclId_t;
CERAR_API cerarResult_t cerarGetNcclId(cerarNcclId_t* id);
CERAR_API cerarResult_t cerarCommInitNcclId(cerarComm_t* comm, const cerarNcclId_t* id, int rank, int ranks,
                                            int device, cerarPlan_t plan, int timeout_ms);

/* `ranks` communicators for `ranks` threads of this process, rank i on devices[i]; several may share a
 * device. Messages are copies between devices. A call returns once the neighbours' threads have made it as
 * well, and cannot be captured. plan must not be NULL. */
CERAR_API cerarResult_t cerarCommInitGpus(cerarComm_t* comms, int ranks, const int* devices, cerarPlan_t plan,
                                          int timeout_ms);

/* Does beforehand what the first call of this count, type and operation would do: agreement of the ranks,
 * loading of kernels, memory. Every rank calls. Steady calls then neither allocate nor wait for the device.
 * Where calls are NCCL's own all-reduce, it makes one, on memory of that size that it frees again.
 * On host communicators it does nothing. */
CERAR_API cerarResult_t cerarCommPrepare(cerarComm_t comm, size_t count, cerarDataType_t type,
                                         cerarRedOp_t op);

/* What has gone wrong in calls that had returned: *error is cerarSuccess while nothing has, and otherwise
 * cerarGetLastError() says what. */
CERAR_API cerarResult_t cerarCommGetAsyncError(cerarComm_t comm, cerarResult_t* error);

/* From any thread, any number of times: ends the communicator. Its call under way returns cerarAborted, on
 * hosts within 100 ms, and every later one does at once; other ranks get cerarPeerFailed with a sentence that
 * names this rank (on GPUs in other processes, what NCCL tells them). All that is left is to destroy it. */
CERAR_API cerarResult_t cerarCommAbort(cerarComm_t comm);

/* Tells the other ranks, where they are processes. What was sent before still reaches them. A call that is
 * under way in another thread is aborted first, and waited for. */
CERAR_API cerarResult_t cerarCommDestroy(cerarComm_t comm);

/* Sums (or averages) `count` elements of `type` over all ranks. send == recv works in place; any other
 * overlap is refused. Pointers need the alignment of their type, no more. On hosts, blocks. `stream` is for
 * GPU communicators, see there, and NULL for others. Where c divides N and messages are f32, each element is
 * a sum in f32: within N x 2^-24 of the sum of magnitudes, whatever stands beside it. With other c results
 * are approximate, within the plan's claim, which is relative to the neighbours that are mixed. All ranks end
 * with the same bits where c = N; otherwise results differ between ranks by about the claim, and exact sums
 * by their rounding, since each rank adds in another order. cerarCallInfo_t says which was the case.
 *
 * Range: rings in f32 sum what stays within f32, sums of averages included, which are divided at the end; in
 * all other codes and messages results are finite where each magnitude is below 1e30. In messages of f16 they
 * are where the sum of magnitudes stays below 64000, and for averages where each of them does; numbers below
 * 6e-5 times the gain that this takes (N for averages, about the number of components mixed for codes) lose
 * precision there. */
CERAR_API cerarResult_t cerarAllReduce(const void* send, void* recv, size_t count, cerarDataType_t type,
                                       cerarRedOp_t op, cerarComm_t comm, void* stream);

/* What the last successful all-reduce of a communicator did. */
typedef struct {
  /* Its name in the plan, "baseline" for NCCL's own all-reduce; empty when nothing had to be sent. */
  char variant[64];
  int components;         /* c; divisors of N are exact in messages of f32 */
  int lanes;              /* parts that ran staggered */
  uint64_t call_index;    /* number of the call on this communicator, from 0 */
  uint64_t scratch_bytes; /* memory used beyond the caller's vectors */
  uint64_t sent_bytes;    /* payload sent by this rank */
  uint64_t messages;      /* sent by this rank */
  uint64_t launches;      /* of GPU kernels */
  double claimed_error;   /* relative rms error that the plan claims for this call, and the rounding of the
                           * result to 16 bits where vectors have them; plain codes of few terms claim less for
                           * vectors of f32 out of place, whose own part has no error of the code */
  double claimed_noise;   /* the part of it that is rounding of messages */
  int identical; /* 1: every rank has the same bits; 0: they may differ, or NCCL's own all-reduce did it */
} cerarCallInfo_t;
CERAR_API cerarResult_t cerarCommLastCall(cerarComm_t comm, cerarCallInfo_t* info);

/* Between CERAR's own libraries, not for applications: how libcerar_gloo and libcerar_mpi, which must be of
 * the same build, join ranks. `make` returns the transport, which `words` name. */
typedef void* (*cerarTransportMaker_t)(void* context, const void* offer);
CERAR_API cerarResult_t cerarCommInitTransport(cerarComm_t* comm, const char* build, const char* words,
                                               cerarTransportMaker_t make, void* context, cerarPlan_t plan,
                                               int timeout_ms);

CERAR_API const char* cerarGetErrorString(cerarResult_t result);
/* The calling thread's last error, empty if there was none; valid until its next failing call. */
CERAR_API const char* cerarGetLastError(void);

#ifdef __cplusplus
}
#endif

#endif
