#pragma once

#include "runtime/api/comm.h"

namespace cerar::runtime {

/// A thread's right to use a communicator, checked where a C function is entered. Throws `invalid_argument`
/// for a handle that is null, that is no communicator (any more), that another process made, or that another
/// thread is using; such a handle is not touched.
class CommUse {
 public:
  enum class Kind {
    call,     ///< alone
    observe,  ///< beside a call of another thread
  };
  CommUse(cerarComm_t comm, Kind kind);
  ~CommUse();
  CommUse(const CommUse&) = delete;
  CommUse& operator=(const CommUse&) = delete;

 private:
  cerarComm_t comm_;
  Kind kind_;
};

/// Ends the call under way, if there is one, and every later one.
void abort_calls(cerarComm_t comm);

/// Ends the call under way, waits until its thread has left, and frees the communicator.
void destroy(cerarComm_t comm);

}  // namespace cerar::runtime
