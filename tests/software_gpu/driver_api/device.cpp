#include <algorithm>
#include <cstdio>
#include <string>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/streams/capture.h"

// Devices and contexts.
using namespace software_gpu;

namespace {

struct Named {
  CuResult code;
  const char *name, *sentence;
};
constexpr Named kNames[] = {
    {kCuSuccess, "CUDA_SUCCESS", "no error"},
    {kCuInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kCuOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialised, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kCuNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kCuInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kCuInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kCuInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kCuNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for this device"},
    {kCuUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain"},
    {kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported"},
    {kCuInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kCuNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kCuNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kCuIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kCuPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already"},
    {kPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kCuLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kCuNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kCuCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted under capture"},
    {kCuCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture became invalid"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began on another stream"},
    {kCuCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a forked stream has not been joined"},
    {kCuCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a dependency would leave the capture"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the null stream would join the capture"},
    {kCuCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded under capture"},
    {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began in another thread"},
    {kCuUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Named* named(CuResult code) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Named& row) { return row.code == code; });
  return found == std::end(kNames) ? nullptr : found;
}

bool exists(CuDevice device) { return device >= 0 && device < settings().devices; }

}  // namespace

namespace cerar::runtime {

CuResult cuInit(unsigned flags) {
  SOFTWARE_GPU_ENTER(cuInit);
  if (flags) return kCuInvalidValue;
  if (const int error = environment_number("SOFTWARE_GPU_INIT_ERROR", 0)) return static_cast<CuResult>(error);
  if (settings().devices == 0) return kCuNoDevice;
  set_initialised();
  return kCuSuccess;
}

CuResult cuDriverGetVersion(int* version) {
  SOFTWARE_GPU_ENTER(cuDriverGetVersion);
  *version = settings().driver_version;
  return kCuSuccess;
}

CuResult cuGetErrorName(CuResult error, const char** name) {
  const Named* row = named(error);
  *name = row ? row->name : nullptr;
  return row ? kCuSuccess : kCuInvalidValue;
}

CuResult cuGetErrorString(CuResult error, const char** sentence) {
  const Named* row = named(error);
  *sentence = row ? row->sentence : nullptr;
  return row ? kCuSuccess : kCuInvalidValue;
}

CuResult cuDeviceGetCount(int* count) {
  SOFTWARE_GPU_ENTER(cuDeviceGetCount);
  *count = settings().devices;
  return kCuSuccess;
}

CuResult cuDeviceGet(CuDevice* device, int ordinal) {
  SOFTWARE_GPU_ENTER(cuDeviceGet);
  if (!exists(ordinal)) return kCuInvalidDevice;
  *device = ordinal;
  return kCuSuccess;
}

CuResult cuDeviceGetName(char* name, int length, CuDevice device) {
  SOFTWARE_GPU_ENTER(cuDeviceGetName);
  if (!exists(device)) return kCuInvalidDevice;
  if (length <= 0) return kCuInvalidValue;
  std::snprintf(name, static_cast<std::size_t>(length), "software GPU %d", device);
  return kCuSuccess;
}

CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice device) {
  SOFTWARE_GPU_ENTER(cuDeviceGetAttribute);
  if (!exists(device)) return kCuInvalidDevice;
  switch (attribute) {
    case kCuMultiprocessorCount:
      *value = settings().multiprocessors;
      return kCuSuccess;
    case kCuComputeCapabilityMajor:
      *value = architecture() / 10;
      return kCuSuccess;
    case kCuComputeCapabilityMinor:
      *value = architecture() % 10;
      return kCuSuccess;
  }
  return kCuInvalidValue;
}

CuResult cuDeviceCanAccessPeer(int* can, CuDevice device, CuDevice peer) {
  SOFTWARE_GPU_ENTER(cuDeviceCanAccessPeer);
  if (!exists(device) || !exists(peer)) return kCuInvalidDevice;
  *can = settings().peers && device != peer;
  return kCuSuccess;
}

CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  SOFTWARE_GPU_ENTER(cuDevicePrimaryCtxRetain);
  return exists(device) ? retain_primary(device, context) : kCuInvalidDevice;
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  SOFTWARE_GPU_ENTER(cuDevicePrimaryCtxRelease_v2);
  return exists(device) ? release_primary(device) : kCuInvalidDevice;
}

CuResult cuCtxPushCurrent_v2(CuContext context) {
  SOFTWARE_GPU_ENTER(cuCtxPushCurrent_v2);
  return push_current(context);
}

CuResult cuCtxPopCurrent_v2(CuContext* context) {
  SOFTWARE_GPU_ENTER(cuCtxPopCurrent_v2);
  return pop_current(context);
}

CuResult cuCtxSetCurrent(CuContext context) {
  SOFTWARE_GPU_ENTER(cuCtxSetCurrent);
  return replace_current(context);
}

CuResult cuCtxGetCurrent(CuContext* context) {
  SOFTWARE_GPU_ENTER(cuCtxGetCurrent);
  std::shared_ptr<Context> found;
  const CuResult result = current(&found);
  *context = found ? found->handle : nullptr;
  return result == kCuInvalidContext ? kCuSuccess : result;
}

CuResult cuCtxSynchronize() {
  SOFTWARE_GPU_ENTER(cuCtxSynchronize);
  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Completion>> work;
  {
    const std::lock_guard hold(world());
    SOFTWARE_GPU_TRY(current(&context));
    SOFTWARE_GPU_TRY(forbid_unsafe());
    work = work_of(*context);
  }
  count(&SoftwareGpuCounters::host_synchronisations);
  for (const auto& piece : work) piece->wait();
  return context->state();
}

CuResult cuCtxEnablePeerAccess(CuContext peer, unsigned flags) {
  SOFTWARE_GPU_ENTER(cuCtxEnablePeerAccess);
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  const auto other = contexts().find(peer);
  if (!other) return kCuInvalidContext;
  if (flags) return kCuInvalidValue;
  if (other == context) return kCuInvalidDevice;
  if (!settings().peers) return kPeerAccessUnsupported;
  SOFTWARE_GPU_TRY(forbid_unsafe());
  const bool before = context->peers[static_cast<std::size_t>(other->device)].exchange(true);
  return before ? kCuPeerAccessAlreadyEnabled : kCuSuccess;
}

CuResult cuCtxDisablePeerAccess(CuContext peer) {
  SOFTWARE_GPU_ENTER(cuCtxDisablePeerAccess);
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  const auto other = contexts().find(peer);
  if (!other) return kCuInvalidContext;
  const bool before = context->peers[static_cast<std::size_t>(other->device)].exchange(false);
  return before ? kCuSuccess : kPeerAccessNotEnabled;
}

CuResult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  SOFTWARE_GPU_ENTER(cuCtxGetStreamPriorityRange);
  SOFTWARE_GPU_TRY(require_current());
  if (least) *least = 0;
  if (greatest) *greatest = kGreatestPriority;
  return kCuSuccess;
}

}  // namespace cerar::runtime
