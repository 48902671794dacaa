#include "tuner/cost/traffic.h"

#include "runtime/plan/schedule.h"

namespace cerar::tuner {

Traffic traffic_of(const runtime::Shape& shape, runtime::Messages messages) {
  if (shape.workers == 1) return {.vector = 2, .message = 0};
  long long vector = 0, message = 0;
  for (int rank = 0; rank < shape.workers; ++rank)
    for (int visit = 1; visit <= shape.visits; ++visit) {
      const auto step = runtime::step_at(shape, messages, rank, visit);
      vector += runtime::vector_lines(step, shape);
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
