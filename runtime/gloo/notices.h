#pragma once

#include <gloo/context.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/notices.h"
#include "runtime/gloo/waiter.h"

namespace cerar::runtime {

/// Gloo keeps messages between two ranks apart by slots. Data has connections of its own, see ring.h.
constexpr std::uint64_t kExchangeSlot = std::uint64_t{1} << 40;
constexpr std::uint64_t kNoticeSlot = kExchangeSlot + 1;
constexpr std::uint64_t kAcknowledgementSlot = kExchangeSlot + 2;
constexpr std::uint64_t kNothingSlot = kExchangeSlot + 3;  // never sent to: whether there is a connection

/// Carries notices between ranks. A thread listens, and acknowledges by itself: so an acknowledgement shows
/// that a rank's process runs and has received what was sent to it before, whatever its application is doing.
class GlooNotices {
 public:
  /// Hands what comes to `failures`; `failed` is called in the listening thread when another rank fails.
  GlooNotices(gloo::Context& context, Waiter& waiter, Failures& failures, std::function<void()> failed);
  ~GlooNotices();
  GlooNotices(const GlooNotices&) = delete;
  GlooNotices& operator=(const GlooNotices&) = delete;

  /// Tells `ranks` and waits until they acknowledge, lose their connection, or `deadline` comes. Returns
  /// those that did not acknowledge in time.
  std::vector<int> notify(const std::vector<int>& ranks, Notice::Kind kind, const std::string& text,
                          Waiter::Clock::time_point deadline);

 private:
  struct Message {
    Notice::Kind kind;
    char text[kLongestNotice + 1];  // ends with a zero
  };
  struct Sent {
    Message message;
    std::unique_ptr<Waiter::Buffer> buffer;
  };
  struct Peer {
    std::unique_ptr<Waiter::Buffer> acknowledges, acknowledged;
    bool awaits = false;  // a receive is posted in `acknowledged`
  };

  void listen();
  void take(int rank);
  /// Takes ranks without a connection from others_. False where none was found, so that listening cannot go
  /// on.
  bool forget_lost();

  gloo::Context& context_;
  Waiter& waiter_;
  Failures& failures_;
  const std::function<void()> failed_;
  std::vector<Peer> peers_;  // [rank]
  std::vector<int> others_;  // that are listened to
  char acknowledgement_ = 1, received_acknowledgement_ = 0;
  char nothing_ = 0;
  Message received_{};
  std::vector<std::unique_ptr<Sent>> sent_;  // ranks that are stopped may take one much later
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;                          // guards what follows
  std::unique_ptr<Waiter::Buffer> receives_;  // which the listening thread alone replaces

  std::thread thread_;
};

}  // namespace cerar::runtime
