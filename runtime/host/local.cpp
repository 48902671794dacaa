#include "runtime/host/local.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/comm/call_exchange.h"

namespace cerar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// One lane of the link rank -> rank + 1. Each side is idle (no buffer), posted, or done when the copy was
// made.
struct Mailbox {
  std::span<const std::byte> message;
  std::span<std::byte> buffer;
  bool sends = false, receives = false;
  bool copying = false;
};

struct Link {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Mailbox> lanes;
};

struct Group {
  Group(int size, std::chrono::milliseconds limit) : links(size), calls(size, limit) {}

  std::vector<Link> links;  // [sender]
  CallExchange calls;
};

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->links.size()); }

  std::vector<CallDescription> exchange(const CallDescription& call) override {
    try {
      return group_->calls.exchange(rank_, call);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) abort(error.what());
      throw;
    }
  }

  void post_receive(int lane, std::span<std::byte> buffer) override {
    post(previous(), lane, [&](Mailbox& box) {
      box.buffer = buffer;
      box.receives = true;
    });
  }

  void post_send(int lane, std::span<const std::byte> message) override {
    post(rank_, lane, [&](Mailbox& box) {
      box.message = message;
      box.sends = true;
    });
  }

  void wait_received(int lane) override { wait_done(previous(), lane, &Mailbox::receives); }

  void wait_sent(int lane) override { wait_done(rank_, lane, &Mailbox::sends); }

  void abort(const std::string& reason) noexcept override {
    interrupt(reason);
    // From here on no copy begins; those under way end before the caller gets its buffers back.
    withdraw(group_->links[rank_], &Mailbox::sends);
    withdraw(group_->links[previous()], &Mailbox::receives);
  }

  // The ranks have one state, so all of them hear of it.
  void interrupt(const std::string& reason) noexcept override {
    group_->calls.fail(reason);
    for (auto& link : group_->links) {
      const std::lock_guard lock(link.mutex);  // so that no waiter is between its check and its wait
      link.changed.notify_all();
    }
  }

 private:
  int previous() const { return (rank_ + size() - 1) % size(); }

  template <typename Predicate>
  static bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   Clock::time_point deadline, Predicate predicate) {
    return changed.wait_until(lock, deadline, predicate);
  }

  [[noreturn]] void fail(std::unique_lock<std::mutex>& lock, ErrorCode code, std::string sentence) {
    lock.unlock();
    if (code == ErrorCode::timeout) sentence = with_timeout_advice(std::move(sentence));
    abort(sentence);
    throw Error(code, sentence);
  }

  template <typename Post>
  void post(int sender, int lane, Post post) {
    Link& link = group_->links[sender];
    std::unique_lock lock(link.mutex);
    if (group_->calls.failure()) group_->calls.throw_failure();
    Mailbox& box = link.lanes[lane];
    post(box);
    if (!box.sends || !box.receives) return;
    if (box.message.size() != box.buffer.size())
      fail(lock, ErrorCode::mismatch,
           fmt::format("rank {} sends {} bytes where rank {} expects {}; all ranks must use the same plan.",
                       sender, box.message.size(), (sender + 1) % size(), box.buffer.size()));
    // Neither side touches the mailbox before it is told, so the copy needs no lock.
    box.copying = true;
    lock.unlock();
    std::memcpy(box.buffer.data(), box.message.data(), box.message.size());
    lock.lock();
    box.sends = box.receives = box.copying = false;
    link.changed.notify_all();
  }

  void wait_done(int sender, int lane, bool Mailbox::* under_way) {
    Link& link = group_->links[sender];
    std::unique_lock lock(link.mutex);
    Mailbox& box = link.lanes[lane];
    const bool in_time = wait(link.changed, lock, Clock::now() + group_->calls.timeout(),
                              [&] { return !(box.*under_way) || (!box.copying && group_->calls.failure()); });
    if (!(box.*under_way)) return;
    if (in_time) group_->calls.throw_failure();
    fail(lock, ErrorCode::timeout,
         sender == rank_ ? fmt::format("rank {} waited {} ms for rank {} to take a message.", rank_,
                                       group_->calls.timeout().count(), (rank_ + 1) % size())
                         : fmt::format("rank {} waited {} ms for a message of rank {}.", rank_,
                                       group_->calls.timeout().count(), sender));
  }

  static void withdraw(Link& link, bool Mailbox::* posted) {
    std::unique_lock lock(link.mutex);
    for (auto& [lane, box] : link.lanes) {
      link.changed.wait(lock, [&box = box] { return !box.copying; });
      box.*posted = false;
    }
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, std::chrono::milliseconds timeout) {
  auto group = std::make_shared<Group>(ranks, timeout);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<LocalTransport>(group, rank));
  return transports;
}

}  // namespace cerar::runtime
