#include "runtime/gpu/nccl/communicator.h"

#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/thread.h"

namespace cerar::runtime {

using Clock = std::chrono::steady_clock;

NcclResult settle(NcclComm comm, Clock::time_point deadline) {
  for (;;) {
    NcclResult state = kNcclSuccess;
    const NcclResult asked = nccl().ncclCommGetAsyncError(comm, &state);
    if (asked != kNcclSuccess) return asked;
    if (state != kNcclInProgress || Clock::now() > deadline) return state;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

namespace {

// A split under way. Where the parent does not block, NCCL returns at once and writes the child's handle when
// all ranks have come, whether somebody still waits for it or not; the parent is busy until then.
struct Splitting {
  Splitting() { config.blocking = 1; }  // the child's calls block, but only until they are enqueued

  NcclConfig config;
  NcclComm made = nullptr;
  NcclResult result = kNcclInProgress;
};

// Keeps what NCCL may still write to.
void abandon(std::shared_ptr<Splitting> splitting) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<Splitting>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(splitting));
}

[[noreturn]] void fail_split(int rank, const char* advice) {
  throw Error(
      ErrorCode::timeout,
      fmt::format("rank {} waited too long for all ranks to split the communicator; {}.", rank, advice));
}

// The child, once ncclCommSplit has returned.
OwnedComm finish_split(const std::shared_ptr<Splitting>& splitting, NcclComm parent, int rank,
                       Clock::time_point deadline, const char* advice) {
  NcclResult result = splitting->result;
  if (result == kNcclSuccess || result == kNcclInProgress) result = settle(parent, deadline);
  if (result == kNcclInProgress) {
    abandon(splitting);
    fail_split(rank, advice);
  }
  OwnedComm own(splitting->made);
  if (result == kNcclSuccess) result = own.get() ? settle(own.get(), deadline) : kNcclInternalError;
  if (result != kNcclSuccess) own.abort();
  check(result, "splitting a communicator");
  return own;
}

}  // namespace

OwnedComm split_unblocking(NcclComm parent, int rank, Clock::time_point deadline) {
  const auto splitting = std::make_shared<Splitting>();
  splitting->result = nccl().ncclCommSplit(parent, 0, rank, &splitting->made, &splitting->config);
  return finish_split(splitting, parent, rank, deadline, "check the other ranks' logs");
}

// The thread stays until the split is done, since NCCL 2.18 keeps what it does in the background in the
// thread that began it.
OwnedComm split_any(NcclComm parent, int rank, DeviceHandle device, Clock::time_point deadline) {
  constexpr const char* kAdvice = "abort it, since NCCL goes on waiting";
  struct Threaded : Splitting {
    std::mutex mutex;  // of `result` as well, and of `made` until ncclCommSplit has returned
    std::condition_variable changed;
    bool returned = false, abandoned = false, done = false;
  };
  const auto splitting = std::make_shared<Threaded>();
  auto split = [splitting, parent, rank, device = std::move(device)]() mutable {
    NcclResult result = kNcclUnhandledCudaError;
    try {
      const OutsideCaptures outside;
      const OnDevice current(*device);
      result = nccl().ncclCommSplit(parent, 0, rank, &splitting->made, &splitting->config);
    } catch (const Error&) {  // the device is lost
    }
    device.reset();
    std::unique_lock lock(splitting->mutex);
    splitting->result = result;
    splitting->returned = true;
    splitting->changed.notify_all();
    if (splitting->abandoned && splitting->made) nccl().ncclCommAbort(splitting->made);
    splitting->changed.wait(lock, [&] { return splitting->done || splitting->abandoned; });
  };
  std::thread thread = start_thread("in which NCCL splits the communicator", std::move(split));
  {
    std::unique_lock lock(splitting->mutex);
    splitting->abandoned =
        !splitting->changed.wait_until(lock, deadline, [&] { return splitting->returned; });
  }
  if (splitting->abandoned) {
    thread.detach();
    fail_split(rank, kAdvice);
  }
  const auto finish = [&] {
    {
      const std::lock_guard lock(splitting->mutex);
      splitting->done = true;
    }
    splitting->changed.notify_all();
    thread.join();
  };
  try {
    OwnedComm own = finish_split(splitting, parent, rank, deadline, kAdvice);
    finish();
    return own;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::timeout)
      thread.detach();  // NCCL still works on it
    else
      finish();
    throw;
  }
}

}  // namespace cerar::runtime
