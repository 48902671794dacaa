#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/driver_api/graphs.h"
#include "tests/software_gpu/memory/memory.h"
#include "tests/software_gpu/memory/module.h"
#include "tests/software_gpu/software_gpu.h"
#include "tests/software_gpu/streams/event.h"

using namespace software_gpu;

namespace {

template <typename Handle, typename Object>
long long alive(const Handles<Handle, Object>& handles) {
  return std::count_if(handles.all().begin(), handles.all().end(),
                       [](const auto& entry) { return entry.second->context->alive.load(); });
}

/// Written guards that no test looked at make the whole program fail.
__attribute__((destructor)) void check_at_exit() {
  const long long faults = memory::check_guards();
  if (faults == 0) return;
  std::fprintf(stderr, "software GPU: %lld allocations were written outside of their bounds\n", faults);
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace

extern "C" {

int software_gpu_use(const char* plan_directory) { return use_plan(plan_directory); }

void software_gpu_counters(SoftwareGpuCounters* counters) {
  *counters = counted();
  const memory::Live live = memory::live();
  counters->allocations_live = live.allocations;
  counters->bytes_live = live.bytes;
  const std::lock_guard hold(world());
  counters->modules_live = alive(modules());
  counters->ptx_modules_live = std::count_if(
      modules().all().begin(), modules().all().end(),
      [](const auto& entry) { return entry.second->context->alive.load() && entry.second->image.is_ptx; });
  counters->streams_live = alive(streams());
  counters->events_live = alive(events());
  counters->graphs_live = static_cast<long long>(graphs().all().size() + graph_execs().all().size());
  counters->contexts_live = static_cast<long long>(contexts().all().size());
}

void software_gpu_reset() {
  {
    const std::lock_guard hold(world());
    forget_captures();
    graph_execs().clear();
    graphs().clear();
  }
  forget_contexts();
  {
    const std::lock_guard hold(world());
    events().clear();
    streams().clear();
  }
  forget_plans();
  clear_injections();
  clear_counters();
  set_delays(-1, 0);
  set_architecture(0);
}

long long software_gpu_inject(int fault, long long n) { return inject(fault, n); }

long long software_gpu_inject_here(int fault, long long n) { return inject_here(fault, n); }

void software_gpu_fail(const char* function, long long n, int code) { failures().add(function, n, code); }

void software_gpu_architecture(int number) { set_architecture(number); }

void software_gpu_delays(int at_most_us, unsigned seed) { set_delays(at_most_us, seed); }
}
