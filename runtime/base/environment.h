#pragma once

#include <chrono>

namespace cerar {

/// Everything that CERAR reads from the environment, in one place.
struct Environment {
  /// CERAR_TIMEOUT, seconds (a positive number): limit of every wait for a peer. Default 30.
  std::chrono::milliseconds timeout{30000};
};

/// Reads and checks the variables. Throws `invalid_argument` naming the variable and its value.
Environment read_environment();

}  // namespace cerar
