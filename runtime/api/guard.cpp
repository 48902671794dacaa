#include "runtime/api/guard.h"

#include "runtime/base/debug_log.h"
#include "runtime/base/environment.h"
#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

thread_local std::string last_error;
thread_local const char* last_sentence = "";  // last_error's, or one for which there was no memory

cerarResult_t result_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return cerarInvalidArgument;
    case ErrorCode::invalid_plan:
      return cerarInvalidPlan;
    case ErrorCode::unsupported:
      return cerarUnsupported;
    case ErrorCode::mismatch:
      return cerarMismatch;
    case ErrorCode::timeout:
      return cerarTimeout;
    case ErrorCode::peer_failed:
      return cerarPeerFailed;
    case ErrorCode::system:
      return cerarSystemError;
    case ErrorCode::internal:
      return cerarInternalError;
    case ErrorCode::aborted:
      return cerarAborted;
  }
  return cerarInternalError;
}

}  // namespace

cerarResult_t remember(cerarResult_t result, const char* sentence) noexcept {
  try {
    last_error = sentence_of(sentence);
    last_sentence = last_error.c_str();
  } catch (...) {
    last_sentence = kMemoryExhausted;
  }
  debug_log("{}: {}", cerarGetErrorString(result), sentence);
  return result;
}

cerarResult_t remember(const Error& error) noexcept {
  const cerarResult_t result = result_of(error.code());
  if (error.code() != ErrorCode::timeout) return remember(result, error.what());
  try {
    return remember(result, with_timeout_advice(error.what()).c_str());
  } catch (...) {
    return remember(result, error.what());
  }
}

}  // namespace cerar::runtime

const char* cerarGetLastError(void) { return cerar::runtime::last_sentence; }

const char* cerarGetErrorString(cerarResult_t result) {
  switch (result) {
    case cerarSuccess:
      return "success";
    case cerarInvalidArgument:
      return "invalid argument";
    case cerarInvalidPlan:
      return "invalid plan";
    case cerarUnsupported:
      return "unsupported";
    case cerarMismatch:
      return "ranks disagree";
    case cerarTimeout:
      return "timeout";
    case cerarPeerFailed:
      return "a peer failed";
    case cerarSystemError:
      return "system error";
    case cerarInternalError:
      return "internal error";
    case cerarAborted:
      return "aborted";
  }
  return "unknown result";
}
