#pragma once

#include "runtime/gpu/driver_api.h"

/// Results of the driver that CERAR has no name for.
namespace software_gpu {

using namespace cerar::runtime;

constexpr auto kNotInitialised = static_cast<CuResult>(3);
constexpr auto kPeerAccessUnsupported = static_cast<CuResult>(217);
constexpr auto kPeerAccessNotEnabled = static_cast<CuResult>(705);
constexpr auto kContextIsDestroyed = static_cast<CuResult>(709);
constexpr auto kMisalignedAddress = static_cast<CuResult>(716);
constexpr auto kCaptureUnmatched = static_cast<CuResult>(903);
constexpr auto kCaptureImplicit = static_cast<CuResult>(906);
constexpr auto kCaptureWrongThread = static_cast<CuResult>(908);

}  // namespace software_gpu
