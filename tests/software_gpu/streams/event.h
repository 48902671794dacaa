#pragma once

#include "tests/software_gpu/streams/capture.h"

namespace software_gpu {

/// Guarded by world().
struct Event {
  std::shared_ptr<Context> context;
  std::shared_ptr<Completion> recorded;  ///< null: never, or under capture
  std::shared_ptr<Capture> capture;      ///< where it was recorded last, if under capture
  std::set<std::size_t> nodes;
};

Handles<CuEvent, Event>& events();

// With world() held.
CuResult find_event(CuEvent handle, std::shared_ptr<Event>* event);
CuResult record(Event& event, const std::shared_ptr<Stream>& stream);
/// What was recorded last at the time of this call.
CuResult wait(const std::shared_ptr<Stream>& stream, const Event& event);
/// For calls that ask whether it has happened.
CuResult forbid_captured(const Event& event);

}  // namespace software_gpu
