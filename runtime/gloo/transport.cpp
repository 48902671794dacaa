#include "runtime/gloo/transport.h"

#include <fmt/format.h>
#include <gloo/common/error.h>

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "runtime/base/deadline.h"
#include "runtime/base/error.h"
#include "runtime/base/thread.h"
#include "runtime/gloo/guarded_context.h"
#include "runtime/gloo/mesh.h"
#include "runtime/gloo/notices.h"
#include "runtime/gloo/waiter.h"
#include "runtime/host/local.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;
using Buffer = Waiter::Buffer;
using Clock = Waiter::Clock;
using End = Waiter::End;
using Side = Waiter::Side;

// A rank that runs acknowledges at once, whatever else has failed.
constexpr std::chrono::milliseconds kAckTimeout = 250ms;
constexpr std::chrono::milliseconds kInterruptTimeout = 50ms;  // the caller wants to have done with it
constexpr std::chrono::milliseconds kLeaveTimeout = 5s;

// The descriptions of one peer's calls: a receive is posted ahead of the peer's next call.
struct Caller {
  CallDescription theirs;
  std::unique_ptr<Buffer> sends, receives;
  bool posted = false;
};

class GlooTransport final : public Transport {
 public:
  GlooTransport(std::shared_ptr<gloo::Context> context, std::unique_ptr<Ring> ring,
                std::chrono::milliseconds timeout, const Deadline& meeting)
      : context_(std::move(context)),
        ring_(std::move(ring)),
        timeout_(timeout),
        meeting_(meeting),
        failures_(rank_, size_, timeout, kReasonTimeout),
        waiter_(std::make_unique<Waiter>(timeout)) {
    callers_.resize(static_cast<std::size_t>(size()));
    for (const int other : others()) {
      auto& caller = callers_[static_cast<std::size_t>(other)];
      caller.sends = context_->createUnboundBuffer(&mine_, sizeof(mine_));
      caller.receives = context_->createUnboundBuffer(&caller.theirs, sizeof(caller.theirs));
    }
    notices_ = std::make_unique<GlooNotices>(*context_, *waiter_, failures_,
                                             [waiter = waiter_.get()] { waiter->interrupt(); });
  }

  ~GlooTransport() override {
    if (context_) close(Notice::Kind::leaving, "", std::min(timeout_, kLeaveTimeout));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<CallDescription> exchange(const CallDescription& mine) override {
    require_working();
    // Plans are compared while ranks meet.
    const bool meets = mine.type[0] == 0;
    const auto deadline = meets ? meeting_.end() : Clock::now() + timeout_;
    mine_ = mine;
    for (const int other : others()) post(other, [&] { post_call(other); });
    std::vector<CallDescription> calls(callers_.size());
    calls[static_cast<std::size_t>(rank())] = mine;
    std::vector<int> missing;
    for (const int other : others()) {
      auto& caller = callers_[static_cast<std::size_t>(other)];
      // What has come by now is there at once; a moment's wait is for the thread that keeps deadlines.
      const auto limit = missing.empty() ? deadline : Clock::now() + 5ms;
      const End end = guarded(other, [&] { return waiter_->wait(*caller.receives, Side::receive, limit); });
      if (end == End::interrupted) failures_.throw_reason();
      if (end == End::expired) {
        missing.push_back(other);
        continue;
      }
      caller.posted = false;
      calls[static_cast<std::size_t>(other)] = caller.theirs;
    }
    if (!missing.empty())
      throw Error(ErrorCode::timeout, not_called(mine, missing, meets ? meeting_.limit() : timeout_));
    for (const int other : others())
      finish(*callers_[static_cast<std::size_t>(other)].sends, Side::send, other);
    post_ahead();
    return calls;
  }

  void post_receive(int lane, std::span<std::byte> buffer) override {
    require_working();
    ring_->post_receive(lane, buffer);
  }

  void wait_received(int lane) override {
    timed(Side::receive, previous(), [&] { ring_->wait_received(lane); });
  }

  void post_send(int lane, std::span<const std::byte> message) override {
    require_working();
    post(next(), [&] { ring_->post_send(lane, message); });
  }

  void wait_sent(int lane) override {
    timed(Side::send, next(), [&] { ring_->wait_sent(lane); });
  }

  void abort(const std::string& reason) noexcept override {
    if (!context_) return;
    try {
      failures_.fail(reason);
      close(Notice::Kind::failed, reason, failures_.interrupted() ? kInterruptTimeout : kAckTimeout);
    } catch (const std::exception&) {
      disconnect();  // without memory for a notice, closing has to say it
    }
  }

  void interrupt(const std::string& reason) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!context_) return;
    failures_.interrupt(reason);
    waiter_->interrupt();
  }

 private:
  int previous() const { return (rank() + size() - 1) % size(); }
  int next() const { return (rank() + 1) % size(); }

  const std::vector<int>& others() {
    if (others_.empty())
      for (int other = 0; other < size(); ++other)
        if (other != rank()) others_.push_back(other);
    return others_;
  }

  void post_call(int other) {
    auto& caller = callers_[static_cast<std::size_t>(other)];
    if (!caller.posted) caller.receives->recv(other, kExchangeSlot);
    caller.posted = true;
    caller.sends->send(other, kExchangeSlot);
  }

  // What goes wrong here concerns the next call, which finds it again.
  void post_ahead() {
    const PipeSignalSwallowed no_signal;
    for (const int other : others()) {
      auto& caller = callers_[static_cast<std::size_t>(other)];
      try {
        caller.receives->recv(other, kExchangeSlot);
        caller.posted = true;
      } catch (const std::exception&) {
      }
    }
  }

  void require_working() const {
    if (!context_ || failures_.failed()) failures_.throw_reason();
  }

  template <typename Post>
  void post(int peer, Post post) {
    const PipeSignalSwallowed no_signal;
    guarded(peer, post);
  }

  // Runs what talks to `peer`; an exception of Gloo means that the connection is lost.
  template <typename Body>
  std::invoke_result_t<Body> guarded(int peer, Body body) {
    try {
      return body();
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (failures_.failed() || (!failures_.left(peer) && failed_within(kReasonTimeout)))
        failures_.throw_reason();
      throw failures_.gone(peer, gloo_words(error.what()));
    }
  }

  void finish(Buffer& buffer, Side side, int peer) {
    require_working();
    const End end = guarded(peer, [&] { return waiter_->wait(buffer, side, Clock::now() + timeout_); });
    if (end == End::interrupted) failures_.throw_reason();
    if (end == End::expired) blame(side, peer);
  }

  // Runs what waits for data to move, on the ring's connections, which are lost when it is called off.
  template <typename Wait>
  void timed(Side side, int peer, Wait wait) {
    require_working();
    const auto deadline = Clock::now() + data_timeout();
    const End end = guarded(peer, [&] {
      try {
        return waiter_->wait(wait, [this] { ring_->call_off(); }, deadline);
      } catch (const gloo::IoException&) {
        // Gloo has one exception for connections that are lost and for silence.
        if (failures_.failed() || Clock::now() < deadline) throw;
        return End::expired;
      }
    });
    if (end == End::interrupted) failures_.throw_reason();
    if (end == End::expired) blame(side, peer);
  }

  // Leaves time to ask the peer before the caller's timeout is over.
  std::chrono::milliseconds data_timeout() const { return timeout_ - std::min(timeout_ / 8, kAckTimeout); }

  [[noreturn]] void blame(Side side, int peer) {
    failures_.begin_wait();
    unresponsive_ = notices_->notify({peer}, Notice::Kind::ping, "", Clock::now() + kAckTimeout);
    if (unresponsive_.empty()) failures_.answered(peer);
    if (failures_.all_answered({peer}) && failed_within(failures_.grace())) failures_.throw_reason();
    throw failures_.late({peer}, side == Side::send ? "to take a message" : "to send a message");
  }

  bool failed_within(std::chrono::milliseconds timeout) {
    // A wait for what nobody sends, which a notice interrupts.
    char nothing = 0;
    const auto never = context_->createUnboundBuffer(&nothing, 1);
    waiter_->wait(*never, Side::receive, Clock::now() + timeout);
    return failures_.failed();
  }

  void close(Notice::Kind kind, const std::string& text, std::chrono::milliseconds timeout) {
    std::vector<int> there;
    for (const int other : others())
      if (!failures_.left(other)) there.push_back(other);
    // Last those that are unresponsive, for whom nobody needs to wait.
    const auto is_unresponsive = [&](int other) {
      return std::find(unresponsive_.begin(), unresponsive_.end(), other) != unresponsive_.end();
    };
    std::erase_if(there, is_unresponsive);
    const auto late = notices_->notify(there, kind, text, Clock::now() + timeout);
    notices_->notify(unresponsive_, kind, text, Clock::now());
    // Who has read that this rank leaves has all that came before. Connections that are reset keep no port,
    // as closed ones do for a minute: a job of many ranks would soon have none left.
    notices_.reset();
    if (kind == Notice::Kind::leaving)
      for (const int other : others())
        if (!is_unresponsive(other) && std::find(late.begin(), late.end(), other) == late.end())
          context_->getPair(other)->close();
    disconnect();
  }

  // The order matters: threads end before the buffers that they use, buffers before the connections.
  void disconnect() noexcept {
    const std::lock_guard lock(mutex_);  // not while another thread interrupts
    ring_.reset();
    notices_.reset();
    callers_.clear();
    waiter_.reset();
    context_.reset();
  }

  std::shared_ptr<gloo::Context> context_;  // none once it failed
  std::unique_ptr<Ring> ring_;
  const int rank_ = context_->rank, size_ = context_->size;
  const std::chrono::milliseconds timeout_;
  const Deadline meeting_;
  Failures failures_;
  std::vector<int> others_, unresponsive_;
  CallDescription mine_;
  std::vector<Caller> callers_;  // [rank]
  std::unique_ptr<Waiter> waiter_;
  std::unique_ptr<GlooNotices> notices_;

  std::mutex mutex_;  // of the end of all of these
};

void check(const GlooOptions& options) {
  if (options.ranks < 1 || options.ranks > 4096)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("ranks is {} but must lie in 1..4096.", options.ranks));
  if (options.rank < 0 || options.rank >= options.ranks)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank is {} but must lie in 0..{}.", options.rank, options.ranks - 1));
}

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options) {
  check(options);
  if (options.ranks == 1) return std::move(make_local_transports(1, options.timeout).front());
  const Deadline deadline(options.meeting_timeout);
  require_descriptors(options);
  const auto store = open_store(options.store, options.rank, options.ranks, deadline);
  const Meeting meeting = store->meet(deadline);
  Connection connection = connect_mesh(options, *store, meeting, deadline);
  auto transport = std::make_unique<GlooTransport>(connection.context, std::move(connection.ring),
                                                   options.timeout, deadline);
  // Once every rank has come this far, none needs the store.
  transport->exchange({});
  store->leave();
  return transport;
}

}  // namespace cerar::runtime
