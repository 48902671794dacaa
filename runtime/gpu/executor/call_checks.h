#pragma once

#include <cstdint>

#include "runtime/comm/executor.h"
#include "runtime/gpu/driver.h"

namespace cerar::runtime {

/// What tells the capture of a stream from others, 0 where it is not being captured. Throws
/// `invalid_argument` when the capture has failed.
std::uint64_t capture_of(CuStream stream);

/// The capture of the call's stream. Throws `invalid_argument` unless the stream is of the device and the
/// vectors lie in its memory; nothing has been enqueued then. The device's context must be current.
std::uint64_t check_call(const Call& call, const Device& device);

}  // namespace cerar::runtime
