#pragma once

#include <condition_variable>
#include <mutex>

namespace software_gpu {

/// Set once, when a piece of work has ended; everything before finish() is seen after wait().
class Completion {
 public:
  void finish() {
    const std::lock_guard hold(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  bool done() const {
    const std::lock_guard hold(mutex_);
    return done_;
  }
  void wait() const {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return done_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace software_gpu
