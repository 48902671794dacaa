#pragma once

#include <csignal>

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

}  // namespace cerar
