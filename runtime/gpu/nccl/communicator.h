#pragma once

#include <chrono>
#include <utility>

#include "runtime/gpu/nccl/nccl.h"
#include "runtime/gpu/resources.h"

namespace cerar::runtime {

/// A communicator that is aborted or destroyed once.
class OwnedComm {
 public:
  OwnedComm() = default;
  explicit OwnedComm(NcclComm comm) : comm_(comm) {}
  ~OwnedComm() {
    if (comm_) nccl().ncclCommDestroy(comm_);
  }
  OwnedComm(OwnedComm&& other) noexcept { std::swap(comm_, other.comm_); }
  OwnedComm& operator=(OwnedComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }

  NcclComm get() const { return comm_; }
  void abort() {
    if (comm_) nccl().ncclCommAbort(std::exchange(comm_, nullptr));
  }

 private:
  NcclComm comm_ = nullptr;
};

/// Waits until what was begun on a communicator that does not block is done; kNcclInProgress at the deadline.
NcclResult settle(NcclComm comm, std::chrono::steady_clock::time_point deadline);

/// A communicator of our own with the ranks of one that does not block. Throws `timeout` where not all ranks
/// come.
OwnedComm split_unblocking(NcclComm parent, int rank, std::chrono::steady_clock::time_point deadline);

/// Likewise for one that may block until all ranks have come, so in a thread of its own.
OwnedComm split_any(NcclComm parent, int rank, DeviceHandle device,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace cerar::runtime
