#pragma once

#include "runtime/plan/plan.h"

namespace cerar::tuner {

/// Accesses to memory that the kernels of one all-reduce make per element of the vector, reads and writes
/// together, averaged over ranks: the sum of `runtime::vector_lines` and of messages over all visits.
double accesses_per_element(const runtime::Shape& shape, runtime::Messages messages);

/// The same, apart: elements of the vector (or samples in it), and elements of messages.
struct Traffic {
  double vector = 0;
  double message = 0;
};
Traffic traffic_of(const runtime::Shape& shape, runtime::Messages messages);

}  // namespace cerar::tuner
