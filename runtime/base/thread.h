#pragma once

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/signals.h"

namespace cerar {

/// A thread of the library's own: signals stay the application's. Throws `system` saying for what the system
/// refused one.
template <typename Thread = std::thread, typename Body>
Thread start_thread(const char* purpose, Body body) {
  const SignalsBlocked blocked;
  try {
    return Thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(
        ErrorCode::system,
        fmt::format("the system refused a thread {} ({}); raise the limit on processes (ulimit -u) or "
                    "free memory.",
                    purpose, error.code().message()));
  }
}

}  // namespace cerar
