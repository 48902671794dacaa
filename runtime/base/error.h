#pragma once

#include <stdexcept>
#include <string>

#include "runtime/base/one_line.h"

namespace cerar {

/// What kind of thing went wrong; the C API maps each to one `cerarResult_t`.
enum class ErrorCode {
  invalid_argument,  ///< the caller passed something that no plan could serve
  invalid_plan,      ///< a plan, topology or kernel file is malformed, altered or does not fit
  unsupported,       ///< well-formed, but not offered by this build or plan
  mismatch,          ///< ranks disagree (count, type, operation, plan)
  timeout,           ///< a peer did not answer in time
  peer_failed,       ///< another rank reported an error
  system,            ///< the operating system refused (files, memory, dlopen)
  internal,          ///< a defect in CERAR itself
  aborted,           ///< this rank itself ended the communicator
};

/// The only exception type that crosses a layer. `what()` is one sentence that names the thing, the
/// offending value and what to do about it.
class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& sentence)
      : std::runtime_error(sentence_of(sentence)), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace cerar
