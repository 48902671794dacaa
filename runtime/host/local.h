#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/host/transport.h"

namespace cerar::runtime {

/// Ranks that are threads of one process; a message is one memcpy, made by whichever side comes second.
/// `timeout` limits every wait. The transports share their state and may be destroyed in any order.
std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, std::chrono::milliseconds timeout);

}  // namespace cerar::runtime
