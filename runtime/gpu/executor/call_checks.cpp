#include "runtime/gpu/executor/call_checks.h"

#include <fmt/format.h>

#include <cstdint>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

void check_stream(CuStream stream, const Device& device) {
  if (!stream) return;  // the default stream of whatever context is current
  CuContext context = nullptr;
  const CuResult result = driver().cuStreamGetCtx(stream, &context);
  if (result != kCuSuccess)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("stream {} is none: {}; pass a live stream of device {}.",
                            static_cast<void*>(stream), words_of(result), device.ordinal()));
  if (context != device.context())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("stream {} belongs to another device or context; pass one of device {}.",
                            static_cast<void*>(stream), device.ordinal()));
}

void check_vector(const void* vector, const char* name, const Device& device) {
  const CuAddress address = reinterpret_cast<std::uintptr_t>(vector);
  // Managed memory first: its type may be either, whatever devices can do with it.
  unsigned managed = 0, type = 0;
  if (driver().cuPointerGetAttribute(&managed, kCuPointerIsManaged, address) == kCuSuccess && managed) return;
  const CuResult result = driver().cuPointerGetAttribute(&type, kCuPointerMemoryType, address);
  if (result != kCuSuccess || type != kCuMemoryDevice)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} is not device memory; copy the vector to device {} first, or use a host "
                            "communicator.",
                            name, vector, device.ordinal()));
  int ordinal = device.ordinal();
  if (driver().cuPointerGetAttribute(&ordinal, kCuPointerDeviceOrdinal, address) == kCuSuccess &&
      ordinal != device.ordinal())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} is memory of device {}, but the communicator's is device {}.", name,
                            vector, ordinal, device.ordinal()));
}

}  // namespace

std::uint64_t capture_of(CuStream stream) {
  CuCaptureStatus status = kCuCaptureNone;
  unsigned long long id = 0;
  check(driver().cuStreamGetCaptureInfo(stream, &status, &id), "asking whether the stream is being captured");
  if (status == kCuCaptureStatusInvalidated)
    throw Error(ErrorCode::invalid_argument,
                "the capture of the stream has failed already; end it before the next call.");
  return status == kCuCaptureActive ? id : 0;
}

std::uint64_t check_call(const Call& call, const Device& device) {
  const auto stream = static_cast<CuStream>(call.stream);
  check_stream(stream, device);
  if (call.count > 0) {
    check_vector(call.send, "send", device);
    check_vector(call.receive, "recv", device);
  }
  return capture_of(stream);
}

}  // namespace cerar::runtime
