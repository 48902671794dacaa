#pragma once

#include "runtime/gpu/resources.h"

namespace cerar::runtime {

/// Lets `from` write into the memory of `to` directly where both can, and copies a pattern there and back:
/// some machines claim that they can and lose data. Without, or after a probe that failed, copies between the
/// two go by way of the host. Throws `system` where access that loses data is open already: it is not ours to
/// close.
void open_peer_access(const DeviceHandle& from, const DeviceHandle& to);

}  // namespace cerar::runtime
