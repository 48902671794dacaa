#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "runtime/api/caller_state.h"
#include "runtime/base/error.h"
#include "runtime/include/cerar.h"

namespace cerar::runtime {

inline constexpr const char* kMemoryExhausted = "memory is exhausted; use smaller vectors or fewer lanes.";

/// The wall between exceptions inside and codes outside: keeps the sentence for cerarGetLastError.
cerarResult_t remember(cerarResult_t result, const char* sentence) noexcept;
cerarResult_t remember(const Error& error) noexcept;

/// Runs `body` as the C API promises, whatever it throws. Leaves the caller's thread as it was.
template <typename Body>
cerarResult_t outcome(Body&& body) noexcept {
  try {
    body();
    return cerarSuccess;
  } catch (const Error& error) {
    return remember(error);
  } catch (const std::bad_alloc&) {
    return remember(cerarSystemError, kMemoryExhausted);
  } catch (const std::length_error&) {  // more than any memory
    return remember(cerarSystemError, kMemoryExhausted);
  } catch (const std::system_error& error) {
    return remember(cerarSystemError, error.what());
  } catch (const std::exception& error) {
    return remember(cerarInternalError, error.what());
  } catch (...) {
    return remember(cerarInternalError, "an unknown exception reached the C API.");
  }
}

template <typename Body>
cerarResult_t guard(Body&& body) {
  CallerState caller;
  const cerarResult_t result = outcome(body);
  caller.restore();
  return result;
}

}  // namespace cerar::runtime
