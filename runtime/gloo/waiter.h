#pragma once

#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cerar::runtime {

/// The limit that Gloo is given: none that anybody would notice.
inline constexpr std::chrono::milliseconds kNoTimeout = std::chrono::hours(24 * 365);

/// Waits with a deadline. Gloo's own time-out closes all connections of a context before anyone could be told
/// why; so Gloo waits without one, and a thread here, asleep but for deadlines that pass, calls a wait off.
/// One thread waits at a time; any may interrupt.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;
  using Buffer = gloo::transport::UnboundBuffer;
  enum class End { done, expired, interrupted };
  enum class Side { send, receive };

  /// `usual`: how far ahead deadlines mostly lie; nearer ones are kept too, at the price of waking the
  /// thread.
  explicit Waiter(std::chrono::milliseconds usual);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Until an operation of the buffer is complete. Throws Gloo's exception where the connection is lost.
  End wait(Buffer& buffer, Side side, Clock::time_point deadline);
  /// The same, whatever `interrupt` was called.
  End wait_uninterrupted(Buffer& buffer, Side side, Clock::time_point deadline);

  /// The same of anything else that waits: until `attempt` returns, or throws because `call_off` was called
  /// in another thread, after which it cannot go on.
  End wait(const std::function<void()>& attempt, const std::function<void()>& call_off,
           Clock::time_point deadline);

  /// Ends this and every later `wait`.
  void interrupt();

 private:
  End wait(Buffer& buffer, Side side, Clock::time_point deadline, bool heeds_interrupt);
  class Waiting;
  void keep_deadlines();

  const std::chrono::milliseconds usual_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  const std::function<void()>* call_off_ = nullptr;  // of the wait under way
  bool heeds_interrupt_ = false, expired_ = false, interrupted_ = false, stopping_ = false;
  Clock::time_point deadline_, next_look_;
  std::thread thread_;
};

}  // namespace cerar::runtime
