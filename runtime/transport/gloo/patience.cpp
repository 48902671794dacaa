#include "runtime/transport/gloo/patience.h"

#include "runtime/base/signals.h"

namespace cerar::runtime {
Patience::Patience(std::chrono::milliseconds usual) : usual_(usual), next_look_(Clock::now() + usual) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { keep_deadlines(); });
}

Patience::~Patience() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Patience::End Patience::wait(Buffer& buffer, Side side, Clock::time_point deadline) {
  return wait(buffer, side, deadline, true);
}

Patience::End Patience::wait_uninterrupted(Buffer& buffer, Side side, Clock::time_point deadline) {
  return wait(buffer, side, deadline, false);
}

void Patience::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (waiting_ && heeds_interrupt_) call_off();
}

Patience::End Patience::wait(Buffer& buffer, Side side, Clock::time_point deadline, bool heeds_interrupt) {
  std::unique_lock lock(mutex_);
  if (heeds_interrupt && interrupted_) return End::interrupted;
  waiting_ = &buffer;
  side_ = side;
  heeds_interrupt_ = heeds_interrupt;
  expired_ = false;
  deadline_ = deadline;
  if (deadline < next_look_) changed_.notify_one();
  struct Done {  // also when Gloo throws
    Patience& patience;
    std::unique_lock<std::mutex>& lock;
    ~Done() {
      if (!lock.owns_lock()) lock.lock();
      patience.waiting_ = nullptr;
    }
  } const done{*this, lock};
  for (;;) {
    lock.unlock();
    const bool complete =
        side == Side::send ? buffer.waitSend(nullptr, kForever) : buffer.waitRecv(nullptr, kForever);
    lock.lock();
    if (complete) return End::done;
    if (heeds_interrupt && interrupted_) return End::interrupted;
    if (expired_) return End::expired;
    // A wait before this one was called off when it was complete already.
  }
}

void Patience::call_off() {
  if (side_ == Side::send)
    waiting_->abortWaitSend();
  else
    waiting_->abortWaitRecv();
}

void Patience::keep_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    if (waiting_ && !expired_ && deadline_ <= now) {
      expired_ = true;
      call_off();
    }
    next_look_ = waiting_ && !expired_ ? deadline_ : now + usual_;
    changed_.wait_until(lock, next_look_);
  }
}

}  // namespace cerar::runtime
