#pragma once

#include <cfenv>

namespace cerar {

/// What a call borrows of its caller's thread. While it lives, arithmetic rounds to nearest, keeps subnormal
/// numbers and traps nothing, whatever the application has set, since kernels and error bounds rely on that;
/// and nobody cancels the thread, which would leave other ranks waiting and memory behind.
class CallerState {
 public:
  CallerState() noexcept;
  CallerState(const CallerState&) = delete;
  CallerState& operator=(const CallerState&) = delete;

  /// Gives everything back as it was, errno and the flags of exceptions included. No destructor: a
  /// cancellation that came meanwhile may act here, and must find no frame that forbids it.
  void restore();

 private:
  int error_, cancel_state_;
  std::fenv_t arithmetic_;
};

}  // namespace cerar
