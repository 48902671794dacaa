#include "runtime/gloo/notices.h"

#include <algorithm>

#include "runtime/base/thread.h"

namespace cerar::runtime {

GlooNotices::GlooNotices(gloo::Context& context, Waiter& waiter, Failures& failures,
                         std::function<void()> failed)
    : context_(context), waiter_(waiter), failures_(failures), failed_(std::move(failed)) {
  peers_.resize(static_cast<std::size_t>(context.size));
  for (int rank = 0; rank < context.size; ++rank) {
    if (rank == context.rank) continue;
    others_.push_back(rank);
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    peer.acknowledges = context.createUnboundBuffer(&acknowledgement_, 1);
    peer.acknowledged = context.createUnboundBuffer(&received_acknowledgement_, 1);
  }
  receives_ = context.createUnboundBuffer(&received_, sizeof(received_));
  thread_ = start_thread("that listens to other ranks", [this] { listen(); });
}

GlooNotices::~GlooNotices() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    receives_->abortWaitRecv();
  }
  thread_.join();
}

std::vector<int> GlooNotices::notify(const std::vector<int>& ranks, Notice::Kind kind,
                                     const std::string& text, Waiter::Clock::time_point deadline) {
  auto& message = *sent_.emplace_back(std::make_unique<Sent>());
  message.message.kind = kind;
  std::copy_n(text.begin(), std::min(text.size(), sizeof(Message::text) - 1), message.message.text);
  message.buffer = context_.createUnboundBuffer(&message.message, sizeof(Message));
  std::vector<int> notified, unresponsive;
  for (const int rank : ranks) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    try {
      const PipeSignalSwallowed no_signal;
      if (!peer.awaits) peer.acknowledged->recv(rank, kAcknowledgementSlot);
      peer.awaits = true;
      message.buffer->send(rank, kNoticeSlot);
      notified.push_back(rank);
    } catch (const std::exception&) {
      // Its connection is gone: nobody is there to be notified.
    }
  }
  for (const int rank : notified) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    try {
      if (waiter_.wait_uninterrupted(*peer.acknowledged, Waiter::Side::receive, deadline) ==
          Waiter::End::done)
        peer.awaits = false;
      else
        unresponsive.push_back(rank);
    } catch (const std::exception&) {
      // Lost meanwhile; so it is gone as well.
    }
  }
  return unresponsive;
}

void GlooNotices::listen() {
  while (!stopping_ && !others_.empty()) {
    try {
      receives_->recv(others_, kNoticeSlot);
      int rank = -1;
      while (!receives_->waitRecv(&rank, kNoTimeout))
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
    auto fresh = context_.createUnboundBuffer(&received_, sizeof(received_));
    const std::lock_guard lock(mutex_);
    receives_ = std::move(fresh);
    return others_.size() < before;
  } catch (const std::exception&) {  // without memory nothing more is received
    return false;
  }
}

void GlooNotices::take(int rank) {
  received_.text[kLongestNotice] = 0;
  failures_.take({received_.kind, rank, received_.text});
  if (received_.kind == Notice::Kind::failed) failed_();
  try {
    peers_[static_cast<std::size_t>(rank)].acknowledges->send(rank, kAcknowledgementSlot);
  } catch (const std::exception&) {
    // The sender is gone already.
  }
}

}  // namespace cerar::runtime
