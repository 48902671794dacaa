#include "runtime/host/builtin_ring.h"

#include "runtime/plan/schedule.h"

// The kernels' own source, as internal functions of this file.
#define CERAR_KERNEL [[maybe_unused]] static void
namespace {
#include "templates/sum.cu"
}  // namespace

namespace cerar::runtime {

Plan builtin_ring_plan(int workers) {
  Variant ring;
  ring.name = "builtin-ring";
  ring.shape = make_shape(workers, workers);
  ring.interleave = kInterleave;
  ring.lanes = 4;
  Plan plan;
  plan.generator = "built in";
  plan.topology = "any";
  plan.reason = "no plan was given";
  plan.workers = workers;
  plan.variants.push_back(std::move(ring));
  return plan;
}

HostKernelTable builtin_ring_kernels() {
  HostKernelTable table{};
  table[static_cast<std::size_t>(Role::begin)] = begin;
  table[static_cast<std::size_t>(Role::relay)] = relay;
  table[static_cast<std::size_t>(Role::settle)] = settle;
  table[static_cast<std::size_t>(Role::keep)] = keep;
  return table;
}

}  // namespace cerar::runtime
