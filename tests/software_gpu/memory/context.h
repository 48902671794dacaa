#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "tests/software_gpu/base/codes.h"
#include "tests/software_gpu/base/handles.h"
#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/streams/completion.h"

namespace software_gpu {

class Stream;

/// A device's primary context from its first retain to its last release. Guarded by world() unless atomic.
struct Context {
  explicit Context(int at_device) : device(at_device) {}

  const int device;
  CuContext handle = nullptr;
  std::atomic<bool> alive{true};
  std::atomic<int> failure{0};                          ///< of work that ran; every later call returns it
  std::array<std::atomic<bool>, kMostDevices> peers{};  ///< devices whose memory kernels may touch
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Completion>> draining;  ///< last work of streams that were destroyed

  void fail(CuResult code) {
    int none = 0;
    failure.compare_exchange_strong(none, code);
  }
  /// What a call that uses this context must return, or success.
  CuResult state() const {
    if (!alive) return kContextIsDestroyed;
    return static_cast<CuResult>(failure.load());
  }
};

Handles<CuContext, Context>& contexts();

/// The context on top of the calling thread's stack; kCuInvalidContext without one.
CuResult current(std::shared_ptr<Context>* context);
/// The same when the caller does not need it.
CuResult require_current();

CuResult retain_primary(int device, CuContext* handle);
CuResult release_primary(int device);
CuResult push_current(CuContext handle);
CuResult pop_current(CuContext* handle);
CuResult replace_current(CuContext handle);

/// Destroys all contexts and empties the calling thread's stack.
void forget_contexts();

}  // namespace software_gpu
