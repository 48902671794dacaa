#include "tests/software_gpu/streams/stream.h"

#include <algorithm>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/streams/capture.h"
#include "tests/software_gpu/streams/event.h"

// Streams.
using namespace software_gpu;

namespace cerar::runtime {

CuResult cuStreamCreateWithPriority(CuStream* stream, unsigned flags, int priority) {
  SOFTWARE_GPU_ENTER(cuStreamCreateWithPriority);
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  if (flags & ~kCuStreamNonBlocking) return kCuInvalidValue;
  *stream = streams().add(
      std::make_shared<Stream>(context, flags, false, std::clamp(priority, kGreatestPriority, 0)));
  return kCuSuccess;
}

CuResult cuStreamCreate(CuStream* stream, unsigned flags) {
  SOFTWARE_GPU_ENTER(cuStreamCreate);
  return cuStreamCreateWithPriority(stream, flags, 0);
}

CuResult cuStreamDestroy_v2(CuStream handle) {
  SOFTWARE_GPU_ENTER(cuStreamDestroy_v2);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  const auto stream = streams().find(handle);
  if (!stream) return kCuInvalidHandle;
  SOFTWARE_GPU_TRY(stream->context->state());
  if (strikes(kSoftwareGpuLeak)) return kCuSuccess;
  if (stream->capture) stream->capture->invalidate();
  // What it was given still runs, and a wait for the device waits for it.
  auto& draining = stream->context->draining;
  std::erase_if(draining, [](const auto& piece) { return piece->done(); });
  if (stream->last) draining.push_back(stream->last);
  stream->retire();
  streams().remove(handle);
  return kCuSuccess;
}

CuResult cuStreamWaitEvent(CuStream handle, CuEvent event_handle, unsigned flags) {
  SOFTWARE_GPU_ENTER(cuStreamWaitEvent);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  SOFTWARE_GPU_TRY(find_event(event_handle, &event));
  if (flags) return kCuInvalidValue;
  count(&SoftwareGpuCounters::event_waits);
  return strikes(kSoftwareGpuDropWait) ? kCuSuccess : wait(stream, *event);
}

CuResult cuStreamQuery(CuStream handle) {
  SOFTWARE_GPU_ENTER(cuStreamQuery);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  SOFTWARE_GPU_TRY(forbid_captured(*stream));
  SOFTWARE_GPU_TRY(forbid_unsafe());
  for (const auto& piece : work_of(*stream))
    if (!piece->done()) return kCuNotReady;
  return stream->context->state();
}

CuResult cuStreamSynchronize(CuStream handle) {
  SOFTWARE_GPU_ENTER(cuStreamSynchronize);
  std::shared_ptr<Stream> stream;
  std::vector<std::shared_ptr<Completion>> work;
  {
    const std::lock_guard hold(world());
    SOFTWARE_GPU_TRY(find_stream(handle, &stream));
    SOFTWARE_GPU_TRY(forbid_captured(*stream));
    SOFTWARE_GPU_TRY(forbid_unsafe());
    work = work_of(*stream);
  }
  count(&SoftwareGpuCounters::host_synchronisations);
  for (const auto& piece : work) piece->wait();
  return stream->context->state();
}

// Asked of an application's stream before anything is known of its context: no context need be current.

CuResult cuStreamGetCaptureInfo(CuStream handle, CuCaptureStatus* status, unsigned long long* id) {
  SOFTWARE_GPU_ENTER(cuStreamGetCaptureInfo);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream = streams().find(handle);
  if (!stream) SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  SOFTWARE_GPU_TRY(stream->context->state());
  if (stream->legacy) SOFTWARE_GPU_TRY(forbid_legacy(*stream->context));
  *status = !stream->capture           ? kCuCaptureNone
            : stream->capture->valid() ? kCuCaptureActive
                                       : kCuCaptureStatusInvalidated;
  if (stream->capture) *id = stream->capture->id();
  return kCuSuccess;
}

CuResult cuStreamGetCtx(CuStream handle, CuContext* context) {
  SOFTWARE_GPU_ENTER(cuStreamGetCtx);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream = streams().find(handle);
  if (!stream) SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  SOFTWARE_GPU_TRY(stream->context->state());
  *context = stream->context->handle;
  return kCuSuccess;
}

CuResult cuThreadExchangeStreamCaptureMode(CuCaptureMode* mode) {
  SOFTWARE_GPU_ENTER(cuThreadExchangeStreamCaptureMode);
  if (*mode < kCuCaptureGlobal || *mode > kCuCaptureRelaxed) return kCuInvalidValue;
  *mode = exchange_mode(*mode);
  return kCuSuccess;
}

}  // namespace cerar::runtime
