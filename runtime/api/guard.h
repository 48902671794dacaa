#pragma once

#include <exception>
#include <new>
#include <string>

#include "runtime/api/cerar.h"
#include "runtime/base/error.h"

namespace cerar::runtime {

/// The wall between exceptions inside and codes outside: keeps the sentence for cerarGetLastError.
cerarResult_t remember(cerarResult_t result, const char* sentence) noexcept;
cerarResult_t remember(const Error& error) noexcept;

template <typename Body>
cerarResult_t guard(Body&& body) noexcept {
  try {
    body();
    return cerarSuccess;
  } catch (const Error& error) {
    return remember(error);
  } catch (const std::bad_alloc&) {
    return remember(cerarSystemError, "memory is exhausted; use smaller vectors or fewer lanes.");
  } catch (const std::exception& error) {
    return remember(cerarInternalError, error.what());
  } catch (...) {
    return remember(cerarInternalError, "an unknown exception reached the C API.");
  }
}

}  // namespace cerar::runtime
