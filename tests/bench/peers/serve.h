#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runtime/include/cerar.h"

namespace CLI {
class App;
}

namespace cerar::bench {

/// What both workers are told; peers.py writes these options.
struct WorkerOptions {
  std::string control;    ///< Unix socket of the orchestrator
  std::string directory;  ///< of the inputs (inputs.h) and of rendezvous stores
  std::string job;        ///< which worker this is to the orchestrator
  std::size_t count = 0;  ///< f32 elements
};
void add_options(CLI::App& app, WorkerOptions& options);

/// One all-reduce to measure.
struct Contestant {
  std::string name;
  std::function<void()> all_reduce;  ///< sums `serve`'s `data` over ranks in place; may be empty
  std::function<void(cerarCallInfo_t&)> describe;  ///< what a CERAR call did; empty for the others
  std::string left_out;                            ///< then, why it cannot run
  std::function<void()> before, after;             ///< conversions of `data`, not timed; may be empty
};

/// Runs what the orchestrator asks for until it hangs up. At every request all ranks meet in `barrier`, time
/// one all-reduce each, meet again, and answer with one JSON line: seconds, bytes that the interface sent
/// between the barriers, relative rms error against the sum in double. The second barrier comes after the
/// time is taken; it makes sure that what the rank sent has left the machine.
void serve(const WorkerOptions& options, int rank, std::vector<float>& data,
           const std::vector<Contestant>& contestants, const std::function<void()>& barrier);

}  // namespace cerar::bench
