#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/nccl/group.h"
#include "tests/software_gpu/nccl/registrations.h"

// The exported functions of libnccl.so.2.
using namespace software_nccl;

namespace {

#ifdef SOFTWARE_NCCL_OLD  // 2.18, which offers no memory of its own
constexpr int kVersion = 21805;
#else
constexpr int kVersion = 22807;
#endif
constexpr unsigned kMagic = 0xcafebeef;

software_gpu::Failures& failures() {
  static auto& made = *new software_gpu::Failures;
  return made;
}

software_gpu::Failures& stalls() {
  static auto& made = *new software_gpu::Failures;
  return made;
}

/// Whether this call of the function was to stay in the library, as it does where it connects ranks and one
/// of them does not come: until another thread aborts the communicator.
bool stalled(const char* function, NcclComm comm) {
  if (!stalls().next(function)) return false;
  const auto communicator = find(comm);
  while (communicator && !communicator->aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

struct AsyncErrors {
  std::mutex mutex;
  std::map<int, int> codes;  // by rank
};
AsyncErrors& async_errors() {
  static auto& made = *new AsyncErrors;
  return made;
}

NcclResult enter(const char* function) { return static_cast<NcclResult>(failures().next(function)); }

bool wants_blocking(const NcclConfig* config, bool otherwise) {
  return config && config->blocking != INT_MIN ? config->blocking != 0 : otherwise;
}

bool valid(const NcclConfig* config) { return !config || config->magic == kMagic; }

NcclResult current_device(int* device) {
  std::shared_ptr<software_gpu::Context> context;
  if (software_gpu::current(&context) != kCuSuccess) return kNcclUnhandledCudaError;
  *device = context->device;
  return kNcclSuccess;
}

/// Takes a communicator away from its owner; what refers to it still may use it.
NcclResult destroy(NcclComm comm) {
  const auto communicator = find(comm);
  if (!communicator) return kNcclInvalidArgument;
  {
    const std::lock_guard hold(communicator->ready_mutex);
    if (communicator->splitting) {  // NCCL 2.27 refuses after it has begun a group, which then never ends
      start_group();
      return kNcclInvalidArgument;
    }
  }
  std::shared_ptr<software_gpu::Completion> last;
  {
    const std::lock_guard hold(software_gpu::world());
    last = communicator->order->last;
  }
  if (last) last->wait();
  forget_registrations(comm, false);
  remove(comm);
  return kNcclSuccess;
}

}  // namespace

#define SOFTWARE_NCCL_ENTER(function) \
  if (const NcclResult entered = enter(#function); entered != kNcclSuccess) return entered

namespace cerar::runtime {

NcclResult ncclGetVersion(int* version) {
  SOFTWARE_NCCL_ENTER(ncclGetVersion);
  *version = software_gpu::environment_number("SOFTWARE_NCCL_VERSION", kVersion);
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  constexpr std::array kSentences = {"no error",
                                     "unhandled CUDA error",
                                     "unhandled system error",
                                     "internal error",
                                     "invalid argument",
                                     "invalid usage",
                                     "a remote process exited or there was a network error",
                                     "NCCL operation in progress"};
  const auto at = static_cast<std::size_t>(result);
  return at < kSentences.size() ? kSentences[at] : "unknown result code";
}

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  SOFTWARE_NCCL_ENTER(ncclGetUniqueId);
  std::random_device random;
  for (char& byte : id->internal) byte = static_cast<char>(random());
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  SOFTWARE_NCCL_ENTER(ncclCommInitRankConfig);
  if (ranks < 1 || rank < 0 || rank >= ranks || !valid(config)) return kNcclInvalidArgument;
  auto made = std::make_shared<Communicator>();
  if (const NcclResult result = current_device(&made->device); result != kNcclSuccess) return result;
  made->rank = rank;
  made->ranks = ranks;
  made->blocking = wants_blocking(config, true);
  // Known to others first, so that another thread can abort it.
  *comm = add(made);
  NcclResult result = arrive(id, made);
  if (result == kNcclSuccess) {
    if (!made->blocking) return kNcclInProgress;
    result = made->wait_initialised();
  }
  if (result != kNcclSuccess) {
    remove(*comm);
    *comm = nullptr;
  }
  return result;
}

NcclResult ncclCommInitRank(NcclComm* comm, int ranks, NcclUniqueId id, int rank) {
  SOFTWARE_NCCL_ENTER(ncclCommInitRank);
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

NcclResult ncclCommSplit(NcclComm comm, int color, int key, NcclComm* made, NcclConfig* config) {
  SOFTWARE_NCCL_ENTER(ncclCommSplit);
  const auto parent = find(comm);
  if (!parent || parent->initialised() != kNcclSuccess || color < kNoColor || !valid(config))
    return kNcclInvalidArgument;
  *made = nullptr;
  NcclComm handle = nullptr;
  std::shared_ptr<Communicator> child;
  if (color != kNoColor) {
    child = std::make_shared<Communicator>();
    child->device = parent->device;
    child->blocking = wants_blocking(config, parent->blocking);
    handle = add(child);
  }
  // As NCCL does: without blocking it says success at once, and has not made anything yet.
  split(parent, {color, key, child, parent->blocking ? nullptr : parent, handle, made});
  if (!parent->blocking) return kNcclSuccess;
  const NcclResult result = child ? child->wait_initialised() : kNcclSuccess;
  if (result == kNcclSuccess)
    *made = handle;
  else
    remove(handle);
  return result;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  SOFTWARE_NCCL_ENTER(ncclCommFinalize);
  return find(comm) ? kNcclSuccess : kNcclInvalidArgument;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  SOFTWARE_NCCL_ENTER(ncclCommDestroy);
  return destroy(comm);
}

NcclResult ncclCommAbort(NcclComm comm) {
  SOFTWARE_NCCL_ENTER(ncclCommAbort);
  const auto communicator = find(comm);
  if (!communicator) return kNcclInvalidArgument;
  forget_registrations(comm, true);
  remove(comm);
  software_nccl::abort(*communicator);
  return kNcclSuccess;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  SOFTWARE_NCCL_ENTER(ncclCommGetAsyncError);
  const auto communicator = find(comm);
  if (!communicator) return kNcclInvalidArgument;
  *error = communicator->initialised();
  if (*error != kNcclSuccess) return kNcclSuccess;
  {
    const std::lock_guard hold(async_errors().mutex);
    const auto code = async_errors().codes.find(communicator->rank);
    if (code != async_errors().codes.end()) {
      *error = static_cast<NcclResult>(code->second);
      return kNcclSuccess;
    }
  }
  std::function<NcclResult()> deferred;
  {
    const std::lock_guard hold(communicator->ready_mutex);
    if (communicator->splitting) {
      *error = kNcclInProgress;
      return kNcclSuccess;
    }
    if (!communicator->deferred) return kNcclSuccess;
    if (communicator->polls++ == 0) {
      *error = kNcclInProgress;
      return kNcclSuccess;
    }
    deferred = std::exchange(communicator->deferred, nullptr);
  }
  *error = deferred();
  return kNcclSuccess;
}

NcclResult ncclCommCount(const NcclCommTag* comm, int* ranks) {
  SOFTWARE_NCCL_ENTER(ncclCommCount);
  const auto communicator = find(comm);
  if (!communicator || communicator->initialised() != kNcclSuccess) return kNcclInvalidArgument;
  *ranks = communicator->ranks;
  return kNcclSuccess;
}

NcclResult ncclCommUserRank(const NcclCommTag* comm, int* rank) {
  SOFTWARE_NCCL_ENTER(ncclCommUserRank);
  const auto communicator = find(comm);
  if (!communicator || communicator->initialised() != kNcclSuccess) return kNcclInvalidArgument;
  *rank = communicator->rank;
  return kNcclSuccess;
}

NcclResult ncclCommCuDevice(const NcclCommTag* comm, int* device) {
  SOFTWARE_NCCL_ENTER(ncclCommCuDevice);
  const auto communicator = find(comm);
  if (!communicator || communicator->initialised() != kNcclSuccess) return kNcclInvalidArgument;
  *device = communicator->device;
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  SOFTWARE_NCCL_ENTER(ncclGroupStart);
  start_group();
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  SOFTWARE_NCCL_ENTER(ncclGroupEnd);
  return end_group();
}

NcclResult ncclSend(const void* from, std::size_t count, NcclType type, int peer, NcclComm comm,
                    CuStream stream) {
  SOFTWARE_NCCL_ENTER(ncclSend);
  if (stalled("ncclSend", comm)) return kNcclInternalError;
  return enqueue(comm, {Task::send, from, nullptr, count, type, peer, kNcclSum}, stream);
}

NcclResult ncclRecv(void* to, std::size_t count, NcclType type, int peer, NcclComm comm, CuStream stream) {
  SOFTWARE_NCCL_ENTER(ncclRecv);
  return enqueue(comm, {Task::receive, nullptr, to, count, type, peer, kNcclSum}, stream);
}

NcclResult ncclAllGather(const void* from, void* to, std::size_t count, NcclType type, NcclComm comm,
                         CuStream stream) {
  SOFTWARE_NCCL_ENTER(ncclAllGather);
  if (stalled("ncclAllGather", comm)) return kNcclInternalError;
  return enqueue(comm, {Task::all_gather, from, to, count, type, 0, kNcclSum}, stream);
}

NcclResult ncclAllReduce(const void* from, void* to, std::size_t count, NcclType type,
                         NcclReduction reduction, NcclComm comm, CuStream stream) {
  SOFTWARE_NCCL_ENTER(ncclAllReduce);
  return enqueue(comm, {Task::all_reduce, from, to, count, type, 0, reduction}, stream);
}

#ifndef SOFTWARE_NCCL_OLD
NcclResult ncclMemAlloc(void** memory, std::size_t bytes) {
  SOFTWARE_NCCL_ENTER(ncclMemAlloc);
  return allocate(memory, bytes);
}

NcclResult ncclMemFree(void* memory) {
  SOFTWARE_NCCL_ENTER(ncclMemFree);
  return release(memory);
}

NcclResult ncclCommRegister(const NcclCommTag* comm, void* memory, std::size_t bytes, void** handle) {
  SOFTWARE_NCCL_ENTER(ncclCommRegister);
  return register_memory(comm, memory, bytes, handle);
}

NcclResult ncclCommDeregister(const NcclCommTag* comm, void* handle) {
  SOFTWARE_NCCL_ENTER(ncclCommDeregister);
  return deregister(comm, handle);
}
#endif

}  // namespace cerar::runtime

extern "C" {

void software_nccl_fail(const char* function, long long n, int code) { failures().add(function, n, code); }

void software_nccl_stall(const char* function, long long n) { stalls().add(function, n, 1); }

void software_nccl_async_error(int rank, int code) {
  const std::lock_guard hold(async_errors().mutex);
  if (code)
    async_errors().codes[rank] = code;
  else
    async_errors().codes.erase(rank);
}

long long software_nccl_communicators() { return count_communicators(); }

long long software_nccl_registrations() { return count_registrations(); }

long long software_nccl_misuses() { return count_misuses(); }

long long software_nccl_overlaps() { return overlaps(); }

void software_nccl_reset() {
  forget_communicators();
  forget_registrations();
  forget_overlaps();
  failures().clear();
  stalls().clear();
  const std::lock_guard hold(async_errors().mutex);
  async_errors().codes.clear();
}
}
