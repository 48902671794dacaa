#include "runtime/gloo/waiter.h"

#include "runtime/base/thread.h"

namespace cerar::runtime {
Waiter::Waiter(std::chrono::milliseconds usual) : usual_(usual), next_look_(Clock::now() + usual) {
  thread_ = start_thread("that keeps deadlines", [this] { keep_deadlines(); });
}

Waiter::~Waiter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Waiter::End Waiter::wait(Buffer& buffer, Side side, Clock::time_point deadline) {
  return wait(buffer, side, deadline, true);
}

Waiter::End Waiter::wait_uninterrupted(Buffer& buffer, Side side, Clock::time_point deadline) {
  return wait(buffer, side, deadline, false);
}

void Waiter::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (call_off_ && heeds_interrupt_) (*call_off_)();
}

// The wait under way, for the thread that keeps deadlines; also when Gloo throws.
class Waiter::Waiting {
 public:
  Waiting(Waiter& waiter, const std::function<void()>& call_off, Clock::time_point deadline,
          bool heeds_interrupt)
      : waiter_(waiter), lock_(waiter.mutex_) {
    waiter_.call_off_ = &call_off;
    waiter_.heeds_interrupt_ = heeds_interrupt;
    waiter_.expired_ = false;
    waiter_.deadline_ = deadline;
    if (deadline < waiter_.next_look_) waiter_.changed_.notify_one();
  }
  ~Waiting() {
    if (!lock_.owns_lock()) lock_.lock();
    waiter_.call_off_ = nullptr;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Why the wait is over although nothing is complete; `done` where it is not.
  End ended() const {
    if (waiter_.heeds_interrupt_ && waiter_.interrupted_) return End::interrupted;
    return waiter_.expired_ ? End::expired : End::done;
  }

  template <typename Attempt>
  bool run(Attempt attempt) {
    lock_.unlock();
    const bool complete = attempt();
    lock_.lock();
    return complete;
  }
  void lock() {
    if (!lock_.owns_lock()) lock_.lock();
  }

 private:
  Waiter& waiter_;
  std::unique_lock<std::mutex> lock_;
};

Waiter::End Waiter::wait(Buffer& buffer, Side side, Clock::time_point deadline, bool heeds_interrupt) {
  const std::function<void()> call_off = [&buffer, side] {
    side == Side::send ? buffer.abortWaitSend() : buffer.abortWaitRecv();
  };
  Waiting waiting(*this, call_off, deadline, heeds_interrupt);
  if (waiting.ended() == End::interrupted) return End::interrupted;
  const auto attempt = [&] {
    return side == Side::send ? buffer.waitSend(nullptr, kNoTimeout) : buffer.waitRecv(nullptr, kNoTimeout);
  };
  for (;;) {
    if (waiting.run(attempt)) return End::done;
    if (const End end = waiting.ended(); end != End::done) return end;
    // A wait before this one was called off when it was complete already.
  }
}

Waiter::End Waiter::wait(const std::function<void()>& attempt, const std::function<void()>& call_off,
                         Clock::time_point deadline) {
  Waiting waiting(*this, call_off, deadline, true);
  if (waiting.ended() == End::interrupted) return End::interrupted;
  try {
    waiting.run([&] {
      attempt();
      return true;
    });
  } catch (...) {
    waiting.lock();
    if (const End end = waiting.ended(); end != End::done) return end;
    throw;
  }
  return waiting.ended();
}

void Waiter::keep_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    if (call_off_ && !expired_ && deadline_ <= now) {
      expired_ = true;
      (*call_off_)();
    }
    next_look_ = call_off_ && !expired_ ? deadline_ : now + usual_;
    changed_.wait_until(lock, next_look_);
  }
}

}  // namespace cerar::runtime
