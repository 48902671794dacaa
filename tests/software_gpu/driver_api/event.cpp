#include "tests/software_gpu/streams/event.h"

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"

// Events.
using namespace software_gpu;

namespace cerar::runtime {

CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  SOFTWARE_GPU_ENTER(cuEventCreate);
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  constexpr unsigned kKnown = 7;  // blocking synchronisation, no timing, between processes
  if (flags & ~kKnown) return kCuInvalidValue;
  auto made = std::make_shared<Event>();
  made->context = std::move(context);
  *event = events().add(std::move(made));
  return kCuSuccess;
}

CuResult cuEventRecord(CuEvent handle, CuStream stream_handle) {
  SOFTWARE_GPU_ENTER(cuEventRecord);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  SOFTWARE_GPU_TRY(find_stream(stream_handle, &stream));
  SOFTWARE_GPU_TRY(find_event(handle, &event));
  count(&SoftwareGpuCounters::event_records);
  return strikes(kSoftwareGpuDropRecord) ? kCuSuccess : record(*event, stream);
}

CuResult cuEventQuery(CuEvent handle) {
  SOFTWARE_GPU_ENTER(cuEventQuery);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  std::shared_ptr<Event> event;
  SOFTWARE_GPU_TRY(find_event(handle, &event));
  SOFTWARE_GPU_TRY(forbid_captured(*event));
  SOFTWARE_GPU_TRY(forbid_unsafe());
  if (event->recorded && !event->recorded->done()) return kCuNotReady;
  return event->context->state();
}

CuResult cuEventSynchronize(CuEvent handle) {
  SOFTWARE_GPU_ENTER(cuEventSynchronize);
  std::shared_ptr<Event> event;
  std::shared_ptr<Completion> recorded;
  {
    const std::lock_guard hold(world());
    SOFTWARE_GPU_TRY(require_current());
    SOFTWARE_GPU_TRY(find_event(handle, &event));
    SOFTWARE_GPU_TRY(forbid_captured(*event));
    SOFTWARE_GPU_TRY(forbid_unsafe());
    recorded = event->recorded;
  }
  count(&SoftwareGpuCounters::host_synchronisations);
  if (recorded) recorded->wait();
  return event->context->state();
}

CuResult cuEventDestroy_v2(CuEvent handle) {
  SOFTWARE_GPU_ENTER(cuEventDestroy_v2);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  std::shared_ptr<Event> event;
  SOFTWARE_GPU_TRY(find_event(handle, &event));
  if (!strikes(kSoftwareGpuLeak)) events().remove(handle);
  return kCuSuccess;
}

}  // namespace cerar::runtime
