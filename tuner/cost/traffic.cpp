#include "tuner/cost/traffic.h"

#include <algorithm>

#include "runtime/schedule/step.h"

namespace cerar::tuner {
namespace {

using runtime::Role;

// Lines loaded and stored by one kernel per line of its message, without the message itself.
int vector_lines(const runtime::Step& step, const runtime::Shape& shape) {
  const int terms = shape.terms;
  const int missing = step.phase == 0 ? 0 : 1;  // of two components from sample + missing on
  const int components = std::clamp(terms - step.sample - missing, 0, 2);
  const bool raises = step.phase == 0 && step.sample > 0;
  switch (step.role) {
    case Role::begin:
      return 1;
    case Role::relay:
      return 1;
    case Role::settle:
      return 2;
    case Role::keep:
      return 1;
    case Role::encode:  // and the symbols that leave before the first sample
      return 2 * terms + std::max(0, -step.sample - 1);
    case Role::accumulate:
      return 2;
    case Role::decode:
      return 2 * terms;
    case Role::open:
      return 2;
    case Role::visit:
      return components + 1 + (raises ? 1 : 0);
    case Role::close:
      return components + (raises ? 1 : 0) + 2 * terms - 1;
    case Role::widen:
    case Role::narrow:
      break;  // no visits
  }
  return 0;
}

}  // namespace

Traffic traffic_of(const runtime::Shape& shape, runtime::Messages messages) {
  if (shape.workers == 1) return {.vector = 2, .message = 0};
  long long vector = 0, message = 0;
  for (int rank = 0; rank < shape.workers; ++rank)
    for (int visit = 1; visit <= shape.visits; ++visit) {
      const auto step = runtime::step_at(shape, messages, rank, visit);
      vector += vector_lines(step, shape);
      message += (step.receives ? 1 : 0) + (step.sends ? 1 : 0);
    }
  const double share = 1.0 / shape.workers / shape.components;
  return {.vector = static_cast<double>(vector) * share, .message = static_cast<double>(message) * share};
}

double accesses_per_element(const runtime::Shape& shape, runtime::Messages messages) {
  const Traffic traffic = traffic_of(shape, messages);
  return traffic.vector + traffic.message;
}

}  // namespace cerar::tuner
