#include "runtime/gpu/peer/transport.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/comm/call_exchange.h"

namespace cerar::runtime {
namespace {

bool data_arrive(const DeviceHandle& from, const DeviceHandle& to) {
  constexpr std::size_t kWords = 65536;
  std::vector<std::uint32_t> pattern(kWords), found(kWords);
  for (std::size_t i = 0; i < kWords; ++i) pattern[i] = static_cast<std::uint32_t>(i) * 2654435761u + 12345u;
  const std::size_t bytes = kWords * sizeof(std::uint32_t);
  const Driver& d = driver();
  const DeviceBuffer source(from, bytes), target(to, bytes);
  const OnDevice current(*from);
  const DeviceStream stream(from);
  check(d.cuMemcpyHtoDAsync_v2(source.address(), pattern.data(), bytes, stream.get()), "copying to a device");
  check(d.cuMemcpyPeerAsync(target.address(), to->context(), source.address(), from->context(), bytes,
                            stream.get()),
        "copying between devices");
  check(d.cuStreamSynchronize(stream.get()), "waiting for a copy between devices");
  const OnDevice there(*to);
  const DeviceStream back(to);
  check(d.cuMemcpyDtoHAsync_v2(found.data(), target.address(), bytes, back.get()), "copying from a device");
  check(d.cuStreamSynchronize(back.get()), "waiting for a copy from a device");
  return found == pattern;
}

}  // namespace

void open_peer_access(const DeviceHandle& from, const DeviceHandle& to) {
  if (from->context() == to->context()) return;
  const Driver& d = driver();
  int can = 0;
  check(d.cuDeviceCanAccessPeer(&can, from->ordinal(), to->ordinal()), "asking for access between devices");
  if (!can) return;
  const OnDevice current(*from);
  const CuResult enabled = d.cuCtxEnablePeerAccess(to->context(), 0);
  if (enabled != kCuSuccess && enabled != kCuPeerAccessAlreadyEnabled) return;
  if (data_arrive(from, to)) return;
  if (enabled == kCuPeerAccessAlreadyEnabled)  // another part of the program relies on it
    throw Error(
        ErrorCode::system,
        fmt::format("what device {} writes into memory of device {} does not arrive; switch off access "
                    "control (ACS) and the IOMMU, or do not enable access between these devices.",
                    from->ordinal(), to->ordinal()));
  d.cuCtxDisablePeerAccess(to->context());
}

namespace {

using Clock = std::chrono::steady_clock;

// One lane of the link rank -> rank + 1. Waits for an event are enqueued only once it has been recorded, so
// the two threads meet twice a round: the receiver says that its buffer is free from `free` on, the sender
// that the message is there from `sent` on.
struct Box {
  Box(const DeviceHandle& sender, const DeviceHandle& receiver) : free(receiver), sent(sender) {}

  DeviceEvent free, sent;
  CuAddress buffer = 0;
  std::uint64_t bytes = 0;
  bool offered = false, filled = false;
};

struct Link {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Box> lanes;
};

struct Group {
  Group(std::vector<DeviceHandle> all, std::chrono::milliseconds limit)
      : devices(std::move(all)), links(devices.size()), calls(static_cast<int>(devices.size()), limit) {}

  const std::vector<DeviceHandle> devices;  // [rank]
  std::vector<Link> links;                  // [sender]
  CallExchange calls;                       // what the threads say to each other

  std::mutex mutex;
  std::optional<std::string> failed;

  std::optional<std::string> failure() {
    const std::lock_guard lock(mutex);
    return failed;
  }
};

class PeerTransport final : public DeviceTransport {
 public:
  PeerTransport(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank), device_(group_->devices[static_cast<std::size_t>(rank)]) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->calls.ranks(); }
  const DeviceHandle& device() const override { return device_; }

  std::vector<CallDescription> exchange(const CallDescription& mine, std::optional<CuStream>) override {
    try {
      return group_->calls.exchange(rank_, mine);  // between threads, no work of the device
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) group_->calls.fail(error.what());
      throw;
    }
  }

  CuAddress message_memory(std::uint64_t bytes) override {
    return messages_.emplace_back(device_, bytes).address();
  }

  // Events of one capture cannot be waited for in another, and each rank's graph would be one.
  bool can_be_captured() const override { return false; }

  void pass(int lane, CuStream stream, CuAddress message, CuAddress received, std::uint64_t bytes) override {
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    Link& incoming = link(previous);
    {
      const std::lock_guard lock(incoming.mutex);
      Box& box = box_of(incoming, previous, lane);
      record(box.free, stream);
      box.buffer = received;
      box.bytes = bytes;
      box.offered = true;
    }
    incoming.changed.notify_all();

    Link& outgoing = link(rank());
    {
      std::unique_lock lock(outgoing.mutex);
      Box& box = box_of(outgoing, rank(), lane);
      await(outgoing, lock, box.offered, next);
      if (box.bytes != bytes)
        throw Error(
            ErrorCode::mismatch,
            fmt::format("rank {} sends {} bytes where rank {} expects {}; all ranks must use the same plan.",
                        rank(), bytes, next, box.bytes));
      wait(stream, box.free);
      const DeviceHandle& to = group_->devices[static_cast<std::size_t>(next)];
      check(driver().cuMemcpyPeerAsync(box.buffer, to->context(), message, device_->context(), bytes, stream),
            "copying {} bytes from rank {} to rank {}", bytes, rank(), next);
      record(box.sent, stream);
      box.offered = false;
      box.filled = true;
    }
    outgoing.changed.notify_all();

    std::unique_lock lock(incoming.mutex);
    Box& box = box_of(incoming, previous, lane);
    await(incoming, lock, box.filled, previous);
    wait(stream, box.sent);
    box.filled = false;
  }

  std::optional<Error> failure() override {
    if (const auto reason = group_->failure()) return Error(ErrorCode::peer_failed, *reason);
    return std::nullopt;
  }

  void abort(const std::string& reason) noexcept override {
    {
      const std::lock_guard lock(group_->mutex);
      if (!group_->failed) group_->failed = reason;
    }
    group_->calls.fail(reason);
    for (auto& link : group_->links) {
      const std::lock_guard lock(link.mutex);  // so that no waiter is between its check and its wait
      link.changed.notify_all();
    }
  }

 private:
  Link& link(int sender) { return group_->links[static_cast<std::size_t>(sender)]; }

  Box& box_of(Link& link, int sender, int lane) {
    const auto found = link.lanes.find(lane);
    if (found != link.lanes.end()) return found->second;
    const auto& devices = group_->devices;
    const auto from = static_cast<std::size_t>(sender);
    return link.lanes.try_emplace(lane, devices[from], devices[(from + 1) % devices.size()]).first->second;
  }

  void await(Link& link, std::unique_lock<std::mutex>& lock, const bool& done, int peer) {
    const bool in_time =
        link.changed.wait_for(lock, group_->calls.timeout(), [&] { return done || group_->failure(); });
    if (done) return;
    if (in_time) throw Error(ErrorCode::peer_failed, group_->failure().value_or("a rank failed"));
    throw Error(ErrorCode::timeout, fmt::format("rank {} waited {} ms for rank {} to come to the same round.",
                                                rank(), group_->calls.timeout().count(), peer));
  }

  std::shared_ptr<Group> group_;
  int rank_;
  DeviceHandle device_;
  std::vector<DeviceBuffer> messages_;
};

}  // namespace

std::vector<std::unique_ptr<DeviceTransport>> make_peer_transports(std::span<const int> devices,
                                                                   std::chrono::milliseconds timeout) {
  const OutsideCaptures outside;
  std::map<int, DeviceHandle> opened;
  std::vector<DeviceHandle> handles;
  for (const int ordinal : devices) {
    auto& device = opened[ordinal];
    if (!device) device = std::make_shared<const Device>(ordinal);
    handles.push_back(device);
  }
  for (std::size_t i = 0; i < handles.size(); ++i)
    open_peer_access(handles[i], handles[(i + 1) % handles.size()]);
  auto group = std::make_shared<Group>(std::move(handles), timeout);
  std::vector<std::unique_ptr<DeviceTransport>> transports;
  for (int rank = 0; rank < group->calls.ranks(); ++rank)
    transports.push_back(std::make_unique<PeerTransport>(group, rank));
  return transports;
}

}  // namespace cerar::runtime
