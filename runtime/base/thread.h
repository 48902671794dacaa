#pragma once

#include <fmt/format.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/error.h"

namespace cerar {

/// Blocks every signal of the calling thread while it lives. Threads made meanwhile start that way, so that
/// an application's signals are never handled on a thread that it does not know.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// A write to a connection that the peer has closed raises SIGPIPE, which would end the application. While
/// this lives, the calling thread's is swallowed; one that was pending or blocked before stays so.
class PipeSignalSwallowed {
 public:
  PipeSignalSwallowed();
  ~PipeSignalSwallowed();
  PipeSignalSwallowed(const PipeSignalSwallowed&) = delete;
  PipeSignalSwallowed& operator=(const PipeSignalSwallowed&) = delete;

 private:
  sigset_t before_;
  bool pending_;
};

/// A thread of the library's own: signals stay the application's. Throws `system` saying for what the system
/// refused one.
template <typename Thread = std::thread, typename Body>
Thread start_thread(const char* purpose, Body body) {
  const SignalsBlocked blocked;
  try {
    return Thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(
        ErrorCode::system,
        fmt::format("the system refused a thread {} ({}); raise the limit on processes (ulimit -u) or "
                    "free memory.",
                    purpose, error.code().message()));
  }
}

}  // namespace cerar
