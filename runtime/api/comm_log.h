#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>

#include "runtime/comm/executor.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// What the debug log knows of a communicator.
struct CommLog {
  int rank = -1;
  std::set<std::tuple<std::uint64_t, DataType, Reduction>>
      calls;  ///< those that it has named; empty when off
};

void log_plan(const Plan& plan, std::string_view directory);

/// A new communicator, on a transport in these words; `plan` null is the exact ring, or NCCL's own.
void log_comm(CommLog& log, int rank, int ranks, std::string_view transport, const Plan* plan);

/// The first call of each count, type and operation: what it takes.
void log_call(CommLog& log, const Call& call, const CallReport& report);

}  // namespace cerar::runtime
