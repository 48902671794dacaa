#include "runtime/transport/nccl/nccl_transport.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/transport/nccl/nccl.h"

namespace cerar::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::microseconds(200);
// How long an abort waits for a call of NCCL in another thread to return by itself. Ending it from outside is
// for calls that hang.
constexpr auto kGrace = std::chrono::milliseconds(200);

void* pointer_to(CuAddress address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

NcclType type_of(DataType type) {
  return type == DataType::f32 ? kNcclFloat32 : type == DataType::f16 ? kNcclFloat16 : kNcclBfloat16;
}

// A communicator that is aborted or destroyed once.
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

class NcclTransport final : public DeviceTransport {
 public:
  NcclTransport(OwnedComm parent, OwnedComm comm, DeviceHandle device, std::chrono::milliseconds timeout)
      : parent_(std::move(parent)), comm_(std::move(comm)), device_(std::move(device)), timeout_(timeout) {
    check(nccl().ncclCommUserRank(comm_.get(), &rank_), "asking a communicator for its rank");
    check(nccl().ncclCommCount(comm_.get(), &size_), "asking a communicator for its ranks");
    stream_ = DeviceStream(device_);
    done_ = DeviceEvent(device_);
    const auto ranks = static_cast<std::uint64_t>(size_);
    own_ = DeviceBuffer(device_, 2 * sizeof(CallDescription));
    all_ = DeviceBuffer(device_, ranks * sizeof(CallDescription));
  }

  ~NcclTransport() override {
    const OnDevice current(*device_);
    comm_ = OwnedComm();
    if (aborted_) parent_.abort();  // destroying it might wait for a rank that is gone
    parent_ = OwnedComm();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const DeviceHandle& device() const override { return device_; }
  bool can_be_captured() const override { return true; }
  bool has_all_reduce() const override { return true; }

  std::vector<CallDescription> exchange(const CallDescription& mine) override {
    const OnDevice current(*device_);
    std::vector<CallDescription> calls(static_cast<std::size_t>(size_));
    const Driver& d = driver();
    check(d.cuMemcpyHtoDAsync_v2(own_.address(), &mine, sizeof(mine), stream_.get()), "copying to a device");
    call([&](NcclComm comm) {
      check(nccl().ncclAllGather(pointer_to(own_.address()), pointer_to(all_.address()), sizeof(mine),
                                 kNcclUint8, comm, stream_.get()),
            "exchanging what ranks call");
      // A first message between neighbours: NCCL connects them now, and neither in a capture nor in a call
      // that must not wait.
      pass_with(comm, stream_.get(), own_.address(), own_.address() + sizeof(mine), sizeof(mine));
    });
    record(done_, stream_.get());
    await(mine);
    check(d.cuMemcpyDtoHAsync_v2(calls.data(), all_.address(), calls.size() * sizeof(mine), stream_.get()),
          "copying from a device");
    check(d.cuStreamSynchronize(stream_.get()), "waiting for a copy from a device");
    return calls;
  }

  void pass(int, CuStream stream, CuAddress message, CuAddress received, std::uint64_t bytes) override {
    call([&](NcclComm comm) { pass_with(comm, stream, message, received, bytes); });
  }

  void all_reduce(CuAddress send, CuAddress receive, std::uint64_t count, DataType type, bool averages,
                  CuStream stream) override {
    call([&](NcclComm comm) {
      check(nccl().ncclAllReduce(pointer_to(send), pointer_to(receive), count, type_of(type),
                                 averages ? kNcclAverage : kNcclSum, comm, stream),
            "NCCL's all-reduce");
    });
  }

  std::optional<Error> failure() override {
    const std::lock_guard lock(mutex_);
    if (!comm_.get()) return std::nullopt;  // the reason is known
    NcclResult error = kNcclSuccess;
    const NcclResult asked = nccl().ncclCommGetAsyncError(comm_.get(), &error);
    if (asked != kNcclSuccess) error = asked;
    if (error == kNcclSuccess || error == kNcclInProgress) return std::nullopt;
    return Error(ErrorCode::peer_failed,
                 fmt::format("NCCL reports on rank {}: {}; run with NCCL_DEBUG=WARN to see where.", rank_,
                             words_of(error)));
  }

  void abort(const std::string&) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      if (aborted_.exchange(true)) return;
      const auto patience = Clock::now() + kGrace;
      while (calling_ && Clock::now() < patience) std::this_thread::sleep_for(kPause);
      const OnDevice current(*device_);
      comm_.abort();
    } catch (...) {  // the device is lost, and the communicator with it
    }
  }

 private:
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }

  // One call of NCCL, or a group of them. `abort` waits for it a while, and may end it from another thread.
  template <typename Body>
  void call(Body body) {
    calling_ = true;
    const struct Called {
      std::atomic<bool>& flag;
      ~Called() { flag = false; }
    } called{calling_};
    if (aborted_) throw Error(ErrorCode::peer_failed, fmt::format("rank {} gave up.", rank_));
    body(comm_.get());
  }

  void pass_with(NcclComm comm, CuStream stream, CuAddress message, CuAddress received, std::uint64_t bytes) {
    const Nccl& n = nccl();
    check(n.ncclGroupStart(), "starting a group of NCCL calls");
    const NcclResult sent = n.ncclSend(pointer_to(message), bytes, kNcclUint8, next(), comm, stream);
    const NcclResult received_result =
        n.ncclRecv(pointer_to(received), bytes, kNcclUint8, previous(), comm, stream);
    const NcclResult ended = n.ncclGroupEnd();  // also after a failure: groups are the thread's
    check(sent, "sending {} bytes to rank {}", bytes, next());
    check(received_result, "receiving {} bytes from rank {}", bytes, previous());
    check(ended, "passing {} bytes on from rank {}", bytes, rank_);
  }

  // Polls instead of waiting, so that a rank that does not come, and NCCL's own errors, end it.
  void await(const CallDescription& mine) {
    const auto deadline = Clock::now() + timeout_;
    for (;;) {
      const CuResult state = driver().cuEventQuery(done_.get());
      if (state == kCuSuccess) return;
      if (state != kCuNotReady) check(state, "waiting for other ranks");
      if (const auto error = failure()) throw *error;
      if (aborted_) throw Error(ErrorCode::peer_failed, fmt::format("rank {} gave up.", rank_));
      if (Clock::now() > deadline)
        throw Error(ErrorCode::timeout, fmt::format("rank {} waited {} ms for all ranks to {}.", rank_,
                                                    timeout_.count(), words_of(mine)));
      std::this_thread::sleep_for(kPause);
    }
  }

  OwnedComm parent_, comm_;
  DeviceHandle device_;
  const std::chrono::milliseconds timeout_;
  int rank_ = 0, size_ = 1;
  DeviceStream stream_;
  DeviceEvent done_;
  DeviceBuffer own_, all_;  // a description and what the neighbour sends; [rank] descriptions
  std::atomic<bool> calling_ = false, aborted_ = false;
  std::mutex mutex_;  // of the communicator's end
};

// Waits until what was begun on a communicator that does not block is done.
NcclResult settled(NcclComm comm, Clock::time_point deadline) {
  for (;;) {
    NcclResult state = kNcclSuccess;
    const NcclResult asked = nccl().ncclCommGetAsyncError(comm, &state);
    if (asked != kNcclSuccess) return asked;
    if (state != kNcclInProgress || Clock::now() > deadline) return state;
    std::this_thread::sleep_for(kPause);
  }
}

// A communicator of our own with the same ranks, whose calls block only until they are enqueued.
OwnedComm split(NcclComm comm, int rank, Clock::time_point deadline) {
  NcclConfig config;
  config.blocking = 1;
  NcclComm made = nullptr;
  NcclResult result = nccl().ncclCommSplit(comm, 0, rank, &made, &config);
  if (result == kNcclInProgress) {  // the parent does not block: first it is busy, then its child
    result = settled(comm, deadline);
    if (result == kNcclSuccess) result = settled(made, deadline);
  }
  OwnedComm own(made);
  if (result != kNcclSuccess) own.abort();
  if (result == kNcclInProgress)
    throw Error(ErrorCode::timeout,
                fmt::format("rank {} waited too long for all ranks to split a communicator.", rank));
  check(result, "splitting a communicator");
  return own;
}

}  // namespace

int nccl_ranks(NcclComm comm) {
  int ranks = 0;
  if (nccl().ncclCommCount(comm, &ranks) != kNcclSuccess)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is not a communicator that NCCL knows; pass a live ncclComm_t.",
                            static_cast<const void*>(comm)));
  return ranks;
}

NcclUniqueId make_nccl_id() {
  driver();
  NcclUniqueId id{};
  check(nccl().ncclGetUniqueId(&id), "making an id for a communicator");
  return id;
}

std::unique_ptr<DeviceTransport> make_nccl_transport(NcclComm comm, std::chrono::milliseconds timeout) {
  driver();
  nccl_ranks(comm);
  int ordinal = 0, rank = 0;
  check(nccl().ncclCommUserRank(comm, &rank), "asking a communicator for its rank");
  check(nccl().ncclCommCuDevice(comm, &ordinal), "asking a communicator for its device");
  auto device = std::make_shared<const Device>(ordinal);
  const OnDevice current(*device);
  OwnedComm own = split(comm, rank, Clock::now() + timeout);
  return std::make_unique<NcclTransport>(OwnedComm(), std::move(own), std::move(device), timeout);
}

std::unique_ptr<DeviceTransport> make_nccl_transport(const NcclUniqueId& id, int rank, int ranks, int device,
                                                     std::chrono::milliseconds timeout) {
  driver();
  auto handle = std::make_shared<const Device>(device);
  const OnDevice current(*handle);
  const auto deadline = Clock::now() + timeout;
  // Without blocking, since a rank that does not come would block it for good.
  NcclConfig config;
  config.blocking = 0;
  NcclComm made = nullptr;
  NcclResult result = nccl().ncclCommInitRankConfig(&made, ranks, id, rank, &config);
  if (result == kNcclInProgress) result = settled(made, deadline);
  OwnedComm parent(made);
  if (result != kNcclSuccess) parent.abort();
  if (result == kNcclInProgress)
    throw Error(ErrorCode::timeout,
                fmt::format("rank {} waited {} ms for all {} ranks to join with the same id.", rank,
                            timeout.count(), ranks));
  check(result, "joining {} ranks as rank {}", ranks, rank);
  OwnedComm own = split(parent.get(), rank, deadline);
  return std::make_unique<NcclTransport>(std::move(parent), std::move(own), std::move(handle), timeout);
}

}  // namespace cerar::runtime
