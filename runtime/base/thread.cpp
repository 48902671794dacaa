#include "runtime/base/thread.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace cerar {
namespace {

sigset_t only_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

PipeSignalSwallowed::PipeSignalSwallowed() {
  sigset_t waiting;
  sigpending(&waiting);
  pending_ = sigismember(&waiting, SIGPIPE) == 1;
  const sigset_t pipe = only_pipe();
  pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}

PipeSignalSwallowed::~PipeSignalSwallowed() {
  if (!pending_) {
    const sigset_t pipe = only_pipe();
    const timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {  // a handler ran instead
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace cerar
