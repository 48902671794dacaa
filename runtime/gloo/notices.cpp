#include "runtime/gloo/notices.h"

#include <algorithm>

#include "runtime/base/thread.h"
#include "runtime/gloo/slots.h"

namespace cerar::runtime {
GlooNotices::GlooNotices(gloo::Context& context, Waiter& waiter, std::function<void()> gave_up)
    : context_(context), waiter_(waiter), gave_up_(std::move(gave_up)) {
  peers_.resize(static_cast<std::size_t>(context.size));
  left_.resize(peers_.size());
  for (int rank = 0; rank < context.size; ++rank) {
    if (rank == context.rank) continue;
    others_.push_back(rank);
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    peer.acknowledges = context.createUnboundBuffer(&acknowledgement_, 1);
    peer.acknowledged = context.createUnboundBuffer(&received_acknowledgement_, 1);
  }
  hears_ = context.createUnboundBuffer(&heard_, sizeof(heard_));
  thread_ = start_thread("that listens to other ranks", [this] { listen(); });
}

GlooNotices::~GlooNotices() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    hears_->abortWaitRecv();
  }
  thread_.join();
}

std::optional<std::string> GlooNotices::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

bool GlooNotices::left(int rank) const {
  const std::lock_guard lock(mutex_);
  return left_[static_cast<std::size_t>(rank)];
}

std::vector<int> GlooNotices::tell(const std::vector<int>& ranks, Kind kind, const std::string& text,
                                   Waiter::Clock::time_point deadline) {
  auto& message = *told_.emplace_back(std::make_unique<Told>());
  message.message.kind = kind;
  std::copy_n(text.begin(), std::min(text.size(), sizeof(Message::text) - 1), message.message.text);
  message.buffer = context_.createUnboundBuffer(&message.message, sizeof(Message));
  std::vector<int> told, silent;
  for (const int rank : ranks) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    try {
      const PipeSignalSwallowed no_signal;
      if (!peer.awaits) peer.acknowledged->recv(rank, kAcknowledgementSlot);
      peer.awaits = true;
      message.buffer->send(rank, kNoticeSlot);
      told.push_back(rank);
    } catch (const std::exception&) {
      // Its connection is gone: nobody is there to be told.
    }
  }
  for (const int rank : told) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    try {
      if (waiter_.wait_uninterrupted(*peer.acknowledged, Waiter::Side::receive, deadline) ==
          Waiter::End::done)
        peer.awaits = false;
      else
        silent.push_back(rank);
    } catch (const std::exception&) {
      // Lost while it was told; so it is gone as well.
    }
  }
  return silent;
}

void GlooNotices::listen() {
  while (!stopping_ && !others_.empty()) {
    try {
      hears_->recv(others_, kNoticeSlot);
      int rank = -1;
      while (!hears_->waitRecv(&rank, kNoTimeout))
        if (stopping_) return;
      take(rank);
    } catch (const std::exception&) {
      // A rank is gone, whose neighbours find that out; those that are left still have something to say.
      if (!forget_lost()) return;
    }
  }
}

// Gloo refuses to listen to any rank as long as one of them is lost.
bool GlooNotices::forget_lost() {
  const auto is_lost = [&](int rank) {
    try {
      context_.createUnboundBuffer(&nothing_, 1)->recv(rank, kNothingSlot);
      return false;
    } catch (const std::exception&) {
      return true;
    }
  };
  try {
    const auto before = others_.size();
    std::erase_if(others_, is_lost);
    auto fresh = context_.createUnboundBuffer(&heard_, sizeof(heard_));
    const std::lock_guard lock(mutex_);
    hears_ = std::move(fresh);
    return others_.size() < before;
  } catch (const std::exception&) {  // without memory nothing more is heard
    return false;
  }
}

void GlooNotices::take(int rank) {
  heard_.text[sizeof(heard_.text) - 1] = 0;
  {
    const std::lock_guard lock(mutex_);
    if (heard_.kind == Kind::leaves) left_[static_cast<std::size_t>(rank)] = true;
    if (heard_.kind == Kind::gives_up && !reason_) reason_ = heard_.text;
  }
  if (heard_.kind == Kind::gives_up) gave_up_();
  try {
    peers_[static_cast<std::size_t>(rank)].acknowledges->send(rank, kAcknowledgementSlot);
  } catch (const std::exception&) {
    // Whoever told it is gone already.
  }
}

}  // namespace cerar::runtime
