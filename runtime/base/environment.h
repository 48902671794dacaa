#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace cerar {

/// Limits of waits for other ranks.
struct Timeouts {
  std::chrono::milliseconds call = std::chrono::minutes(10);    ///< of every wait within a call
  std::chrono::milliseconds meeting = std::chrono::minutes(5);  ///< until all have come to a communicator

  /// One limit for both, as the caller or the environment gives it.
  static Timeouts both(std::chrono::milliseconds limit) { return {limit, limit}; }
};

/// Everything that CERAR reads from the environment, in one place.
struct Environment {
  /// CERAR_TIMEOUT, seconds (a positive number): limit of every wait for a peer.
  Timeouts timeouts;
  /// CERAR_NCCL_LIBRARY: the file of NCCL that GPU communicators use. Default: the one that is loaded, or
  /// libnccl.so.2.
  std::string nccl_library;
};

/// Reads and checks the variables. Throws `invalid_argument` naming the variable and its value.
Environment read_environment();

/// What decides about the debug log, see debug_log.h.
struct DebugEnvironment {
  std::string level;  ///< CERAR_DEBUG in lower case: "info", or empty or "off" for no log
  std::string file;   ///< CERAR_DEBUG_FILE; empty is stderr
};

/// As it is: what of it cannot be meant is for the log to say.
DebugEnvironment read_debug_environment();

/// How sentences of a `timeout` end: what to do where the others only needed longer.
inline constexpr std::string_view kTimeoutAdvice =
    "; where they need longer, raise timeout_ms, meeting_timeout_ms or CERAR_TIMEOUT (seconds).";

/// The sentence with that end, once.
std::string with_timeout_advice(std::string sentence);

}  // namespace cerar
