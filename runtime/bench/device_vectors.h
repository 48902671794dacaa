#pragma once

#include <memory>

#include "runtime/measure/call_vectors.h"

namespace cerar::runtime {

/// In the memory of a GPU, with a stream of their own. Throws `unsupported` without a driver, and
/// `invalid_argument` for a device that does not exist.
std::unique_ptr<CallVectors> make_device_vectors(int device);

int device_count();

}  // namespace cerar::runtime
