#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "runtime/gpu/transport.h"

namespace cerar::runtime {

/// Ranks that are threads of one process, each on a device of its own or several on one: a message is a copy
/// that the sender pushes into the receiver's buffer. Directly where the devices can and a probe finds the
/// data intact, else by way of the host, as the driver does it. `devices`: [rank]. Each rank is used by a
/// thread of its own; enqueueing a round waits until the neighbours' threads have come to it.
std::vector<std::unique_ptr<DeviceTransport>> make_peer_transports(std::span<const int> devices,
                                                                   std::chrono::milliseconds timeout);

}  // namespace cerar::runtime
