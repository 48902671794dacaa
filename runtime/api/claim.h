#pragma once

#include "runtime/api/comm.h"

namespace cerar::runtime {

/// A thread's right to use a communicator, checked where a C function is entered. Throws `invalid_argument`
/// for a handle that is null, that is no communicator (any more), that another process made, or that another
/// thread is using; such a handle is not touched.
class Claim {
 public:
  enum class Kind {
    call,  ///< alone
    look,  ///< beside a call of another thread
  };
  Claim(cerarComm_t comm, Kind kind);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  cerarComm_t comm_;
  Kind kind_;
};

/// Ends the call under way, if there is one, and every later one.
void abort_calls(cerarComm_t comm);

/// Ends the call under way, waits until its thread has left, and frees the communicator.
void destroy(cerarComm_t comm);

}  // namespace cerar::runtime
