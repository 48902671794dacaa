#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/comm/executor.h"
#include "runtime/host/kernels.h"
#include "runtime/host/transport.h"
#include "runtime/include/cerar.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_directory.h"

namespace cerar::runtime {

/// The calls of a communicator that the debug log has named; empty when it is off.
using LoggedCalls = std::set<std::tuple<std::uint64_t, DataType, Reduction>>;

void log_plan(const Plan& plan, std::string_view directory);

/// A new communicator, on a transport in these words; `plan` null is the exact ring, or NCCL's own.
void log_comm(int rank, int ranks, std::string_view transport, const Plan* plan);

/// The first call of each count, type and operation: what it takes.
void log_call(LoggedCalls& logged, const Call& call, const CallReport& report);

}  // namespace cerar::runtime

/// A loaded plan, its host libraries open where this machine runs them.
struct cerarPlan {
  std::shared_ptr<const cerar::runtime::LoadedPlan> loaded;
  std::shared_ptr<const cerar::runtime::HostKernels> host;
  std::optional<cerar::Error> no_host;  ///< why `host` is null, for who asks for it

  const cerar::runtime::Plan& plan() const { return *loaded->plan; }
};

namespace cerar::runtime {

/// Who uses a communicator, see comm_use.h.
struct Uses {
  Uses();

  const pid_t process;
  bool busy = false;     ///< a call is under way
  std::thread::id user;  ///< whose
  int observers = 0;
  bool aborted = false, abort_announced = false, ending = false;
};

/// Makes a communicator known to claims, and forgets it.
void enter(cerarComm* comm);
void leave(cerarComm* comm) noexcept;

}  // namespace cerar::runtime

/// One rank's communicator.
struct cerarComm {
  cerarComm(std::shared_ptr<const cerar::runtime::Plan> loaded,
            std::unique_ptr<cerar::runtime::Executor> runs, int own_rank, int all_ranks,
            bool on_streams = false)
      : plan(std::move(loaded)),
        executor(std::move(runs)),
        rank(own_rank),
        ranks(all_ranks),
        takes_stream(on_streams) {
    cerar::runtime::enter(this);
  }
  ~cerarComm() { cerar::runtime::leave(this); }
  cerarComm(const cerarComm&) = delete;
  cerarComm& operator=(const cerarComm&) = delete;

  /// What the last successful call did; asked for beside calls.
  cerar::runtime::CallReport last_call() const {
    const std::lock_guard lock(mutex);
    return last;
  }
  void keep_last(const cerar::runtime::CallReport& report) {
    const std::lock_guard lock(mutex);
    last = report;
  }

  std::shared_ptr<const cerar::runtime::Plan> plan;  // outlives the report's pointer into it
  std::unique_ptr<cerar::runtime::Executor> executor;
  mutable std::mutex mutex;
  cerar::runtime::CallReport last;  // under the mutex
  cerar::runtime::LoggedCalls logged;
  const int rank, ranks;
  const bool takes_stream;
  cerar::runtime::Uses uses;
};

namespace cerar::runtime {

/// A plan and its host kernels, for the ranks of this process.
struct SharedPlan {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const HostKernels> kernels;
};

/// A plan directory's content, host kernels included. A plan for GPUs alone or for another processor has
/// none, nor has any plan where the system opens no library from memory. Throws what load_plan_directory
/// throws, and `invalid_plan` where a library is not what the plan says.
std::unique_ptr<cerarPlan> load(const std::filesystem::path& directory);

/// `plan`'s own, or those of the exact ring where it is null.
SharedPlan shared_plan(cerarPlan_t plan, int ranks);

/// Throws `invalid_argument` for a null pointer that has this name for the caller.
template <typename Pointer>
void require(Pointer pointer, const char* name) {
  if (!pointer) throw Error(ErrorCode::invalid_argument, fmt::format("{} is a null pointer.", name));
}

/// Throws `invalid_argument` for a number of ranks that no process has threads for.
void check_threads(int ranks);

/// Throws `invalid_plan` unless the plan is null, for `ranks` workers, or there is only one rank.
void check_workers(cerarPlan_t plan, int ranks);

/// The communicator of one rank of a job whose ranks are processes. `plan` null takes the exact ring.
/// Compares plans with the other ranks. Throws `invalid_plan` when the plan is for another number of ranks,
/// `mismatch` when ranks have different plans, and what the transport throws.
std::unique_ptr<cerarComm> join_comm(std::unique_ptr<Transport> transport, cerarPlan_t plan);

/// Throws `invalid_argument` unless `size`, which a C caller put into a struct of type `name`, is that of
/// this version or of an earlier one: at least `first`, at most `known`.
void check_struct_size(const char* name, size_t size, size_t first, size_t known);

/// The limits of waits that a C caller asked for; `config` may be null, and the environment's are taken where
/// a limit is 0. Throws `invalid_argument` for a struct of unknown size and for negative limits.
Timeouts checked_timeouts(const cerarCommConfig_t* config);

/// Checks what the C caller passed and turns it into a Call. Throws `invalid_argument` or `unsupported`.
Call checked_shape(size_t count, cerarDataType_t type, cerarRedOp_t op);  // without vectors
Call checked_call(const void* send, void* recv, size_t count, cerarDataType_t type, cerarRedOp_t op);

}  // namespace cerar::runtime
