#include "tests/software_gpu/nccl/group.h"

#include <algorithm>
#include <utility>

#include "tests/software_gpu/streams/event.h"

namespace software_nccl {
namespace {

using software_gpu::Event;
using software_gpu::Stream;

struct Share {  // what one communicator has in a group
  std::shared_ptr<Communicator> communicator;
  std::vector<Task> tasks;
  std::vector<std::shared_ptr<Stream>> streams;
};

thread_local int depth = 0;
thread_local NcclResult failure = kNcclSuccess;
thread_local std::vector<Share> shares;

/// Makes `stream` wait for what `other` has been given. With world() held.
CuResult order_after(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Stream>& other) {
  Event event;
  event.context = other->context;
  if (const CuResult result = record(event, other); result != kCuSuccess) return result;
  return wait(stream, event);
}

/// One piece of work on the first stream, which the other streams go before and after.
NcclResult launch(const Share& share) {
  const std::lock_guard hold(software_gpu::world());
  const auto& streams = share.streams;
  for (std::size_t s = 1; s < streams.size(); ++s)
    if (order_after(streams[0], streams[s]) != kCuSuccess) return kNcclUnhandledCudaError;
  software_gpu::Work work;
  work.urgent = true;
  work.orders = {share.communicator->order};
  work.run = [communicator = share.communicator, tasks = share.tasks] { return run(*communicator, tasks); };
  if (submit(streams[0], std::move(work)) != kCuSuccess) return kNcclUnhandledCudaError;
  for (std::size_t s = 1; s < streams.size(); ++s)
    if (order_after(streams[s], streams[0]) != kCuSuccess) return kNcclUnhandledCudaError;
  return kNcclSuccess;
}

NcclResult close(std::vector<Share> ended) {
  NcclResult result = kNcclSuccess;
  for (Share& share : ended) {
    const auto communicator = share.communicator;
    NcclResult one = kNcclInProgress;
    if (communicator->blocking) {
      one = launch(share);
    } else {
      // The library works in the background: who does not wait for it records events too early.
      const std::lock_guard hold(communicator->ready_mutex);
      communicator->polls = 0;
      communicator->deferred = [share = std::move(share)] { return launch(share); };
    }
    if (result == kNcclSuccess || (result == kNcclInProgress && one != kNcclSuccess)) result = one;
  }
  return result;
}

}  // namespace

void start_group() { ++depth; }

NcclResult end_group() {
  if (depth == 0) return kNcclInvalidUsage;
  if (--depth > 0) return kNcclSuccess;
  const auto ended = std::exchange(shares, {});
  const NcclResult failed = std::exchange(failure, kNcclSuccess);
  return failed == kNcclSuccess ? close(ended) : failed;
}

NcclResult enqueue(NcclComm comm, const Task& task, CuStream stream) {
  const auto check = [&](const std::shared_ptr<Communicator>& communicator, std::shared_ptr<Stream>* found) {
    if (!communicator || communicator->initialised() != kNcclSuccess) return kNcclInvalidArgument;
    {
      const std::lock_guard hold(communicator->ready_mutex);
      if (communicator->deferred) return kNcclInvalidUsage;  // the last group has not been waited for
    }
    if (bytes_of(task.type) == 0) return kNcclInvalidArgument;
    const bool pair = task.kind == Task::send || task.kind == Task::receive;
    if (pair && (task.peer < 0 || task.peer >= communicator->ranks)) return kNcclInvalidArgument;
    if (task.kind == Task::all_reduce &&
        (task.type == kNcclUint8 || (task.reduction != kNcclSum && task.reduction != kNcclAverage)))
      return kNcclInvalidArgument;
    const std::lock_guard hold(software_gpu::world());
    *found = software_gpu::streams().find(stream);
    if (!*found && find_stream(stream, found) != kCuSuccess) return kNcclUnhandledCudaError;
    return (*found)->context->device == communicator->device ? kNcclSuccess : kNcclUnhandledCudaError;
  };
  const auto communicator = find(comm);
  std::shared_ptr<Stream> on;
  if (const NcclResult checked = check(communicator, &on); checked != kNcclSuccess) {
    if (depth > 0 && failure == kNcclSuccess) failure = checked;
    return checked;
  }
  start_group();
  auto share = std::find_if(shares.begin(), shares.end(),
                            [&](const Share& one) { return one.communicator == communicator; });
  if (share == shares.end()) share = shares.insert(share, {communicator, {}, {}});
  share->tasks.push_back(task);
  if (std::find(share->streams.begin(), share->streams.end(), on) == share->streams.end())
    share->streams.push_back(on);
  return end_group();
}

}  // namespace software_nccl
