#include "runtime/gpu/nccl/transport.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/thread.h"
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
    if (!own_) plain_ = DeviceBuffer(device_, bytes);
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
        plain_(std::move(other.plain_)),
        registration_(std::exchange(other.registration_, nullptr)) {}
  MessageMemory& operator=(MessageMemory&&) = delete;

  CuAddress address() const {
    return own_ ? static_cast<CuAddress>(reinterpret_cast<std::uintptr_t>(own_)) : plain_.address();
  }
  // Before the communicator is destroyed; one that was aborted has forgotten it.
  void deregister(NcclComm comm) {
    if (registration_) nccl().ncclCommDeregister(comm, std::exchange(registration_, nullptr));
  }

 private:
  DeviceHandle device_;
  void* own_ = nullptr;
  DeviceBuffer plain_;
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
      throw Error(
          ErrorCode::invalid_argument,
          "NCCL has put off what it was told, as it does between ncclGroupStart and ncclGroupEnd; calls "
          "of CERAR must not lie between them.");
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
      const auto patience = Clock::now() + kGrace;
      while (calling_since_.load() != Clock::time_point() && Clock::now() < patience)
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
    if (result == kNcclInProgress) result = settled(comm_.get(), Clock::now() + timeout_);
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
  if (result == kNcclSuccess || result == kNcclInProgress) result = settled(parent, deadline);
  if (result == kNcclInProgress) {
    abandon(splitting);
    fail_split(rank, advice);
  }
  OwnedComm own(splitting->made);
  if (result == kNcclSuccess) result = own.get() ? settled(own.get(), deadline) : kNcclInternalError;
  if (result != kNcclSuccess) own.abort();
  check(result, "splitting a communicator");
  return own;
}

// A communicator of our own with the ranks of one that does not block.
OwnedComm split(NcclComm parent, int rank, Clock::time_point deadline) {
  const auto splitting = std::make_shared<Splitting>();
  splitting->result = nccl().ncclCommSplit(parent, 0, rank, &splitting->made, &splitting->config);
  return finish_split(splitting, parent, rank, deadline, "look what became of the others");
}

// The same of a communicator that may block, until all ranks have come: in a thread of its own, which stays
// until the split is done, since NCCL 2.18 keeps what it does in the background in the thread that began it.
OwnedComm split_theirs(NcclComm parent, int rank, DeviceHandle device, Clock::time_point deadline) {
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
  OwnedComm own = split_theirs(comm, rank, device, Clock::now() + timeouts.meeting);
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
  if (result == kNcclInProgress) result = settled(made, deadline);
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
    own = split(parent.get(), rank, deadline);
  } catch (...) {
    parent.abort();  // destroying it would wait for ranks that have not come
    throw;
  }
  parent = OwnedComm();
  return std::make_unique<NcclTransport>(std::move(own), std::move(handle), std::move(exchange),
                                         timeouts.call);
}

}  // namespace cerar::runtime
