#pragma once

#include "runtime/gpu/driver_api.h"

/// What tests ask of the libcuda stand-in. None of it exists in a real libcuda.so.1; see README.md.
struct SoftwareGpuCounters {
  // Since the last reset. Work is counted when it runs, so that replays of graphs count.
  long long launches;
  long long copies;       ///< within a device and between host and device, and fills
  long long peer_copies;  ///< cuMemcpyPeerAsync, and copies between two devices
  long long graph_launches;
  long long event_records, event_waits;  ///< calls, dropped ones included
  long long host_synchronisations;       ///< calls that made a host thread wait for work
  long long illegal_accesses;            ///< operations that touched what is not live memory of their device
  long long guard_faults;                ///< allocations whose guard zones were written
  long long last_grid, last_block;       ///< of the last launch that ran
  long long
      patient_work;  ///< kernels, peer copies and NCCL's work given to streams below the greatest priority
  // At this moment.
  long long allocations_live, bytes_live;
  long long ptx_modules_live;  ///< of modules: loaded from PTX
  long long modules_live, streams_live, events_live, graphs_live, contexts_live;
};

enum SoftwareGpuFault : int {
  kSoftwareGpuDropWait = 0,           ///< the n-th cuStreamWaitEvent makes nothing wait
  kSoftwareGpuDropRecord = 1,         ///< the n-th cuEventRecord records nothing
  kSoftwareGpuLeak = 2,               ///< the n-th cuMemFree, cu*Destroy or cuModuleUnload does nothing
  kSoftwareGpuShortenAllocation = 3,  ///< the n-th cuMemAlloc gives 16 bytes less than asked for
};

extern "C" {

/// Makes the kernels of a plan directory loadable: `kernels/<variant>.<arch>.cubin` runs the host build
/// `kernels/<variant>.host.so`. Returns how many cubins have one, -1 when the directory cannot be read.
int software_gpu_use(const char* plan_directory);

void software_gpu_counters(SoftwareGpuCounters* counters);

/// As if the process started anew: counters, injected faults, delays, contexts and whatever lives in them,
/// and known plans are forgotten; the calling thread's stack of contexts is emptied. Work that has not ended
/// is waited for no longer.
void software_gpu_reset();

/// The n-th call from now on, n >= 1, goes wrong in this way; 0 calls it off. Returns how many calls an
/// earlier fault of this kind was still away, 0 when it has struck.
long long software_gpu_inject(int fault, long long n);

/// The same, counting only calls of this thread: which call that is does not depend on other threads.
long long software_gpu_inject_here(int fault, long long n);

/// The n-th call from now on of the function of this exported name returns `code` and does nothing else.
void software_gpu_fail(const char* function, long long n, int code);

/// Devices have this compute capability from now on, 80 for 8.0, whatever SOFTWARE_GPU_ARCH says; 0: what it
/// says.
void software_gpu_architecture(int number);

/// Every operation is preceded by a random delay of at most this many microseconds, one in 64 by ten times
/// that; 0 for none. Overrides SOFTWARE_GPU_DELAY_US and SOFTWARE_GPU_SEED.
void software_gpu_delays(int at_most_us, unsigned seed);
}
