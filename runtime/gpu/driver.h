#pragma once

#include <fmt/format.h>

#include <string>

#include "runtime/gpu/driver_api.h"

namespace cerar::runtime {

/// The functions of the CUDA driver, opened at the first use and never closed.
struct Driver {
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_DRIVER_POINTER(name, parameters) CuResult(*name) parameters = nullptr;
  CERAR_DRIVER_FUNCTIONS(CERAR_DRIVER_POINTER)
#undef CERAR_DRIVER_POINTER
  // NOLINTEND(bugprone-macro-parentheses)
};

/// Throws `unsupported` when there is no driver, when it is older than CUDA 11.4 or when it finds no device;
/// tries again at the next call.
const Driver& driver();

/// Throws `system`, or `internal` for errors that only a defect of CERAR's can cause, with the driver's own
/// words.
[[noreturn]] void fail(CuResult result, const std::string& what);

/// Does that unless the call succeeded. `what` is what was tried, and is only put into words when it failed:
/// check(result, "allocating {} bytes on device {}", bytes, ordinal).
template <typename... Values>
void check(CuResult result, fmt::format_string<const Values&...> what, const Values&... values) {
  if (result != kCuSuccess) fail(result, fmt::format(what, values...));
}

/// The driver's words for a result: "invalid argument (CUDA_ERROR_INVALID_VALUE)".
std::string words_of(CuResult result);

}  // namespace cerar::runtime
