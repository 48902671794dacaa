#include "runtime/gpu/nccl/transport.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/thread.h"
#include "runtime/gpu/nccl/communicator.h"
#include "runtime/gpu/nccl/nccl.h"

namespace cerar::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::microseconds(200);
// How long an abort waits for a call of NCCL in another thread to return by itself. Ending it from outside is
// for calls that hang.
constexpr auto kGrace = std::chrono::milliseconds(50);

void* pointer_to(CuAddress address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

NcclType type_of(DataType type) {
  return type == DataType::f32 ? kNcclFloat32 : type == DataType::f16 ? kNcclFloat16 : kNcclBfloat16;
}

// Memory for messages, of NCCL's own kind where it offers it, which it can send from and receive into without
// copies of its own once it is registered. In this order: register, pass messages, deregister, end the
// communicator, free.
class MessageMemory {
 public:
  // `comm` may be of a version that offers neither.
  MessageMemory(DeviceHandle device, NcclComm comm, std::uint64_t bytes) : device_(std::move(device)) {
    const OnDevice current(*device_);
    const Nccl& n = nccl();
    if (n.ncclMemAlloc && n.ncclMemFree && n.ncclMemAlloc(&own_, bytes) != kNcclSuccess) own_ = nullptr;
    if (!own_) ordinary_ = DeviceBuffer(device_, bytes);
    // Without it messages take the way that they took before: no failure.
    if (n.ncclCommRegister && n.ncclCommDeregister &&
        n.ncclCommRegister(comm, pointer_to(address()), bytes, &registration_) != kNcclSuccess)
      registration_ = nullptr;
  }
  ~MessageMemory() {
    if (!own_) return;
    try {
      const OnDevice current(*device_);
      nccl().ncclMemFree(own_);
    } catch (...) {  // a lost device takes its memory with it
    }
  }
  MessageMemory(MessageMemory&& other) noexcept
      : device_(std::move(other.device_)),
        own_(std::exchange(other.own_, nullptr)),
        ordinary_(std::move(other.ordinary_)),
        registration_(std::exchange(other.registration_, nullptr)) {}
  MessageMemory& operator=(MessageMemory&&) = delete;

  CuAddress address() const {
    return own_ ? static_cast<CuAddress>(reinterpret_cast<std::uintptr_t>(own_)) : ordinary_.address();
  }
  // Before the communicator is destroyed; one that was aborted has forgotten it.
  void deregister(NcclComm comm) {
    if (registration_) nccl().ncclCommDeregister(comm, std::exchange(registration_, nullptr));
  }

 private:
  DeviceHandle device_;
  void* own_ = nullptr;
  DeviceBuffer ordinary_;
  void* registration_ = nullptr;
};

// What ranks exchange their descriptions with. Made before ranks meet: allocating may wait for devices, and
// those of ranks in other threads may be waiting for this one.
struct Exchange {
  Exchange(DeviceHandle device, int ranks)
      : stream(device),
        begun(device),
        done(device),
        own(device, 2 * sizeof(CallDescription)),
        all(device, static_cast<std::uint64_t>(ranks) * sizeof(CallDescription)) {}

  DeviceStream stream;
  DeviceEvent begun, done;
  DeviceBuffer own, all;  // a description and what the neighbour sends; [rank] descriptions
};

class NcclTransport final : public DeviceTransport {
 public:
  NcclTransport(OwnedComm comm, DeviceHandle device, Exchange exchange, std::chrono::milliseconds timeout)
      : comm_(std::move(comm)),
        device_(std::move(device)),
        timeout_(timeout),
        exchange_(std::move(exchange)) {
    check(nccl().ncclCommUserRank(comm_.get(), &rank_), "asking a communicator for its rank");
    check(nccl().ncclCommCount(comm_.get(), &size_), "asking a communicator for its ranks");
  }

  ~NcclTransport() override {
    const OutsideCaptures outside;
    const OnDevice current(*device_);
    if (comm_.get())
      for (auto& message : messages_) message.deregister(comm_.get());
    comm_ = OwnedComm();
    messages_.clear();
    exchange_.reset();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const DeviceHandle& device() const override { return device_; }
  bool can_be_captured() const override { return true; }
  bool has_all_reduce() const override { return true; }

  // Work of this communicator must not overtake what the caller's stream holds: that may be work of another
  // communicator, and two of them on one device must come in the same order on every rank.
  std::vector<CallDescription> exchange(const CallDescription& mine,
                                        std::optional<CuStream> behind) override {
    const OnDevice current(*device_);
    std::vector<CallDescription> calls(static_cast<std::size_t>(size_));
    const Driver& d = driver();
    const CuAddress own = exchange_->own.address(), all = exchange_->all.address();
    const CuStream stream = exchange_->stream.get();
    if (behind) {
      record(exchange_->begun, *behind);
      wait(stream, exchange_->begun);
    }
    record(exchange_->begun, stream);
    check(d.cuMemcpyHtoDAsync_v2(own, &mine, sizeof(mine), stream), "copying to a device");
    check(d.cuMemsetD32Async(all, ~0u, calls.size() * sizeof(mine) / 4, stream), "filling device memory");
    call([&](NcclComm comm) {
      begun(nccl().ncclAllGather(pointer_to(own), pointer_to(all), sizeof(mine), kNcclUint8, comm, stream),
            "exchanging what ranks call");
      // A first message between neighbours: NCCL connects them now, and neither in a capture nor in a call
      // that must not wait.
      pass_with(comm, stream, own, own + sizeof(mine), sizeof(mine));
    });
    await(words_of(mine));
    check(d.cuMemcpyDtoHAsync_v2(calls.data(), all, calls.size() * sizeof(mine), stream),
          "copying from a device");
    check(d.cuStreamSynchronize(stream), "waiting for a copy from a device");
    if (std::memcmp(&calls[static_cast<std::size_t>(rank_)], &mine, sizeof(mine)) != 0)
      throw Error(ErrorCode::invalid_argument,
                  "CERAR was called inside an NCCL group (between ncclGroupStart and ncclGroupEnd); call it "
                  "outside.");
    return calls;
  }

  void pass(int, CuStream stream, CuAddress message, CuAddress received, std::uint64_t bytes) override {
    call([&](NcclComm comm) { pass_with(comm, stream, message, received, bytes); });
  }

  void all_reduce(CuAddress send, CuAddress receive, std::uint64_t count, DataType type, bool averages,
                  CuStream stream) override {
    call([&](NcclComm comm) {
      begun(nccl().ncclAllReduce(pointer_to(send), pointer_to(receive), count, type_of(type),
                                 averages ? kNcclAverage : kNcclSum, comm, stream),
            "NCCL's all-reduce");
    });
  }

  CuAddress message_memory(std::uint64_t bytes) override {
    call([&](NcclComm comm) { messages_.emplace_back(device_, comm, bytes); });
    return messages_.back().address();
  }

  void prepare_all_reduce(std::uint64_t count, DataType type, bool averages) override {
    const OnDevice current(*device_);
    const DeviceBuffer vector(device_, count * size_of(type));
    record(exchange_->begun, exchange_->stream.get());
    all_reduce(vector.address(), vector.address(), count, type, averages, exchange_->stream.get());
    await("prepare NCCL's all-reduce");
  }

  std::optional<Error> failure() override {
    // NCCL may connect ranks in the thread that calls it, and waits for them without a limit.
    const auto since = calling_since_.load();
    if (since != Clock::time_point() && Clock::now() - since > timeout_)
      return Error(ErrorCode::timeout,
                   fmt::format("rank {} waited {} ms in NCCL for other ranks.", rank_, timeout_.count()));
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
      const auto deadline = Clock::now() + kGrace;
      while (calling_since_.load() != Clock::time_point() && Clock::now() < deadline)
        std::this_thread::sleep_for(kPause);
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
    calling_since_ = Clock::now();
    const struct Called {
      std::atomic<Clock::time_point>& since;
      ~Called() { since = Clock::time_point(); }
    } called{calling_since_};
    if (aborted_) throw Error(ErrorCode::peer_failed, fmt::format("rank {} gave up.", rank_));
    body(comm_.get());
  }

  // Our communicator blocks, unless the environment says that none does (NCCL_COMM_BLOCKING=0).
  template <typename... Values>
  void begun(NcclResult result, fmt::format_string<const Values&...> what, const Values&... values) {
    if (result == kNcclInProgress) result = settle(comm_.get(), Clock::now() + timeout_);
    check(result, what, values...);
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
    begun(ended, "passing {} bytes on from rank {}", bytes, rank_);
  }

  // Until what the exchange's stream holds is done; the time counts from its beginning. Polls instead of
  // waiting, so that a rank that does not come, and NCCL's own errors, end it.
  void await(const std::string& purpose) {
    record(exchange_->done, exchange_->stream.get());
    std::optional<Clock::time_point> deadline;
    for (;;) {
      const CuResult state = driver().cuEventQuery(exchange_->done.get());
      if (state == kCuSuccess) return;
      if (state != kCuNotReady) check(state, "waiting for other ranks");
      if (const auto error = failure()) throw *error;
      if (aborted_) throw Error(ErrorCode::peer_failed, fmt::format("rank {} gave up.", rank_));
      if (!deadline && driver().cuEventQuery(exchange_->begun.get()) == kCuSuccess)
        deadline = Clock::now() + timeout_;
      if (deadline && Clock::now() > *deadline)
        throw Error(ErrorCode::timeout, fmt::format("rank {} waited {} ms for all ranks to {}.", rank_,
                                                    timeout_.count(), purpose));
      std::this_thread::sleep_for(kPause);
    }
  }

  OwnedComm comm_;
  DeviceHandle device_;
  const std::chrono::milliseconds timeout_;
  int rank_ = 0, size_ = 1;
  std::optional<Exchange> exchange_;
  std::vector<MessageMemory> messages_;
  std::atomic<Clock::time_point> calling_since_{};  // the epoch: not within a call of NCCL
  std::atomic<bool> aborted_ = false;
  std::mutex mutex_;  // of the communicator's end
};

}  // namespace

int nccl_ranks(NcclComm comm) {
  require_callers_nccl();
  int ranks = 0;
  if (nccl().ncclCommCount(comm, &ranks) != kNcclSuccess)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is not a communicator that {} knows; pass a live ncclComm_t.",
                            static_cast<const void*>(comm), nccl_words()));
  return ranks;
}

NcclUniqueId make_nccl_id() {
  driver();
  NcclUniqueId id{};
  check(nccl().ncclGetUniqueId(&id), "making an id for a communicator");
  return id;
}

std::unique_ptr<DeviceTransport> make_nccl_transport(NcclComm comm, const Timeouts& timeouts) {
  driver();
  int ordinal = 0, rank = 0;
  check(nccl().ncclCommUserRank(comm, &rank), "asking a communicator for its rank");
  check(nccl().ncclCommCuDevice(comm, &ordinal), "asking a communicator for its device");
  auto device = std::make_shared<const Device>(ordinal);
  const OutsideCaptures outside;
  const OnDevice current(*device);
  Exchange exchange(device, nccl_ranks(comm));
  OwnedComm own = split_any(comm, rank, device, Clock::now() + timeouts.meeting);
  return std::make_unique<NcclTransport>(std::move(own), std::move(device), std::move(exchange),
                                         timeouts.call);
}

std::unique_ptr<DeviceTransport> make_nccl_transport(const NcclUniqueId& id, int rank, int ranks, int device,
                                                     const Timeouts& timeouts) {
  driver();
  auto handle = std::make_shared<const Device>(device);
  const OutsideCaptures outside;
  const OnDevice current(*handle);
  Exchange exchange(handle, ranks);
  const auto deadline = Clock::now() + timeouts.meeting;
  // Without blocking, since a rank that does not come would block it for good.
  NcclConfig config;
  config.blocking = 0;
  NcclComm made = nullptr;
  NcclResult result = nccl().ncclCommInitRankConfig(&made, ranks, id, rank, &config);
  if (result == kNcclInProgress) result = settle(made, deadline);
  OwnedComm parent(made);
  if (result != kNcclSuccess) parent.abort();
  if (result == kNcclInProgress)
    throw Error(ErrorCode::timeout,
                fmt::format("rank {} waited {} ms for all {} ranks to join with the same id.", rank,
                            timeouts.meeting.count(), ranks));
  check(result, "joining {} ranks as rank {}", ranks, rank);
  // A communicator that does not block starts a thread for each group of calls, so ranks work on one that
  // does, split from it; the first one has done its work.
  OwnedComm own;
  try {
    own = split_unblocking(parent.get(), rank, deadline);
  } catch (...) {
    parent.abort();  // destroying it would wait for ranks that have not come
    throw;
  }
  parent = OwnedComm();
  return std::make_unique<NcclTransport>(std::move(own), std::move(handle), std::move(exchange),
                                         timeouts.call);
}

}  // namespace cerar::runtime
