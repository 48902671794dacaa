#pragma once

#include <gloo/context.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/gloo/waiter.h"

namespace cerar::runtime {

/// What ranks tell each other beside the data: that one gives up and why, that one leaves, or whether one is
/// there. A thread listens, and acknowledges by itself: so an acknowledgement shows that a rank's process
/// runs and has received what was sent to it before, whatever its application is doing.
class GlooNotices {
 public:
  enum class Kind : std::uint32_t { gives_up = 1, leaves, asks };

  /// `gave_up` is called in the listening thread when another rank gives up.
  GlooNotices(gloo::Context& context, Waiter& waiter, std::function<void()> gave_up);
  ~GlooNotices();
  GlooNotices(const GlooNotices&) = delete;
  GlooNotices& operator=(const GlooNotices&) = delete;

  /// The first reason that another rank gave for giving up.
  std::optional<std::string> reason() const;
  bool left(int rank) const;

  /// Tells `ranks` and waits until they acknowledge, lose their connection, or `deadline` comes. Returns
  /// those that did not acknowledge in time.
  std::vector<int> tell(const std::vector<int>& ranks, Kind kind, const std::string& text,
                        Waiter::Clock::time_point deadline);

 private:
  struct Message {
    Kind kind;
    char text[1020];  // ends with a zero
  };
  struct Told {
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
  const std::function<void()> gave_up_;
  std::vector<Peer> peers_;  // [rank]
  std::vector<int> others_;  // that are listened to
  char acknowledgement_ = 1, received_acknowledgement_ = 0;
  char nothing_ = 0;
  Message heard_{};
  std::vector<std::unique_ptr<Told>> told_;  // ranks that are stopped may take one much later
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;               // guards what follows
  std::unique_ptr<Waiter::Buffer> hears_;  // which the listening thread alone replaces
  std::optional<std::string> reason_;
  std::vector<bool> left_;  // [rank]

  std::thread thread_;
};

}  // namespace cerar::runtime
