#include "runtime/api/caller_state.h"

#include <pthread.h>

#include <cerrno>

namespace cerar {

CallerState::CallerState() noexcept : error_(errno) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  std::fegetenv(&arithmetic_);
  std::fesetenv(FE_DFL_ENV);
}

void CallerState::restore() {
  std::fesetenv(&arithmetic_);
  int ignored;
  pthread_setcancelstate(cancel_state_, &ignored);
  errno = error_;
}

}  // namespace cerar
