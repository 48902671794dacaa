#include "tuner/cost/cost_model.h"

#include <algorithm>

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

namespace {

constexpr double kMebibyte = 1048576.0;

double us_per_mib(double gigabytes_per_second) { return kMebibyte / (gigabytes_per_second * 1e3); }

}  // namespace

CostLine cost_of(const Topology& topology, const runtime::Shape& shape, runtime::Messages messages,
                 ElementBytes bytes) {
  constexpr double kF32 = 4;
  const double rate = static_cast<double>(shape.rounds) / shape.components;
  const double wire = rate * bytes.message / bytes.vector * us_per_mib(topology.bandwidth_gbs);
  const Traffic traffic = traffic_of(shape, messages);
  const double copies = bytes.vector == kF32 ? 0 : 2 * (bytes.vector + kF32);
  const double touched = traffic.vector * kF32 + traffic.message * bytes.message + copies;
  const double kernels = touched / bytes.vector * us_per_mib(topology.memory_bandwidth_gbs);
  return {.fixed_us = shape.rounds * topology.latency_us,
          .us_per_mib = std::max(wire, kernels) + std::min(wire, kernels) / topology.lanes};
}

CostLine baseline_cost(const Topology& topology, int workers) {
  if (!topology.baseline)
    return cost_of(topology, runtime::make_shape(workers, workers), runtime::Messages::sum);
  const auto& baseline = *topology.baseline;
  const double steps = 2.0 * (workers - 1);
  return {.fixed_us = baseline.base_us + steps * baseline.hop_us,
          .us_per_mib = steps / workers * us_per_mib(baseline.bandwidth_gbs)};
}

std::string baseline_name(const Topology& topology) {
  return topology.baseline ? topology.baseline->name : "exact ring";
}

}  // namespace cerar::tuner
