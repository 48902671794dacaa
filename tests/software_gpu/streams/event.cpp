#include "tests/software_gpu/streams/event.h"

namespace software_gpu {

Handles<CuEvent, Event>& events() {
  static auto& made = *new Handles<CuEvent, Event>;
  return made;
}

CuResult find_event(CuEvent handle, std::shared_ptr<Event>* event) {
  *event = events().find(handle);
  if (!*event) return kCuInvalidHandle;
  return (*event)->context->state();
}

CuResult record(Event& event, const std::shared_ptr<Stream>& stream) {
  if (event.context != stream->context) return kCuInvalidHandle;
  if (stream->capture) {
    if (!stream->capture->valid()) return kCuCaptureInvalidated;
    event.recorded.reset();
    event.capture = stream->capture;
    event.nodes = stream->tips;
    return kCuSuccess;
  }
  std::shared_ptr<Completion> recorded;
  if (const CuResult result = submit(stream, {}, &recorded); result != kCuSuccess) return result;
  event.recorded = std::move(recorded);
  event.capture.reset();
  event.nodes.clear();
  return kCuSuccess;
}

CuResult wait(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (event.capture) {
    if (event.capture->active()) return event.capture->join(stream, event.nodes);
    if (stream->capture) stream->capture->invalidate();
    return kCuCaptureIsolation;
  }
  if (!event.recorded) return kCuSuccess;
  if (stream->capture) {
    stream->capture->invalidate();
    return kCuCaptureIsolation;
  }
  Work work;
  work.after.push_back(event.recorded);
  return submit(stream, std::move(work));
}

CuResult forbid_captured(const Event& event) {
  if (!event.capture) return kCuSuccess;
  event.capture->invalidate();
  return kCuCapturedEvent;
}

}  // namespace software_gpu
