#pragma once

#include "runtime/executor/executor.h"
#include "runtime/gpu/device.h"

namespace cerar::runtime {

/// Whether the call's stream is being captured into a graph. Throws `invalid_argument` unless the stream is
/// of the device and the vectors lie in its memory; nothing has been enqueued then. The device's context must
/// be current.
bool check_call(const Call& call, const Device& device);

}  // namespace cerar::runtime
