#pragma once

#include <string>

#include "runtime/plan/plan.h"
#include "tuner/topology/topology.h"

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

/// Predicted time of one all-reduce, affine in the size: fixed_us + us_per_mib * bytes / 2^20.
struct CostLine {
  double fixed_us = 0;
  double us_per_mib = 0;

  double at(double bytes) const { return fixed_us + us_per_mib * bytes / 1048576.0; }
};

/// Of the vectors and of the messages.
struct ElementBytes {
  double vector = 4;
  double message = 4;
};

/// L (alpha + bytes / (c B)) for the messages, `bytes` those of the vector times what a message's element has
/// more or less. Kernels run beside the transfers of other lanes, so the slower
/// of the two counts whole and the faster one only where nothing overlaps it: 1 / lanes of it.
/// Vectors in 16 bits are worked on in f32 copies.
CostLine cost_of(const Topology& topology, const runtime::Shape& shape, runtime::Messages messages,
                 ElementBytes bytes = {});

/// The topology's baseline at N workers, or CERAR's own exact ring (c = N) where it names none.
CostLine baseline_cost(const Topology& topology, int workers);

/// Name of what baseline_cost describes.
std::string baseline_name(const Topology& topology);

}  // namespace cerar::tuner
