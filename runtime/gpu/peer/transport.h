#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "runtime/gpu/resources.h"
#include "runtime/gpu/transport.h"

namespace cerar::runtime {

/// Lets `from` write into the memory of `to` directly where both can, and copies a pattern there and back:
/// some machines claim that they can and lose data. Without, or after a probe that failed, copies between the
/// two go by way of the host. Throws `system` where access that loses data is open already: it is not ours to
/// close.
void open_peer_access(const DeviceHandle& from, const DeviceHandle& to);

/// Ranks that are threads of one process, each on a device of its own or several on one: a message is a copy
/// that the sender pushes into the receiver's buffer. Directly where the devices can and a probe finds the
/// data intact, else by way of the host, as the driver does it. `devices`: [rank]. Each rank is used by a
/// thread of its own; enqueueing a round waits until the neighbours' threads have come to it.
std::vector<std::unique_ptr<DeviceTransport>> make_peer_transports(std::span<const int> devices,
                                                                   std::chrono::milliseconds timeout);

}  // namespace cerar::runtime
