#include "runtime/include/cerar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/api/comm.h"
#include "runtime/api/comm_use.h"
#include "runtime/api/guard.h"
#include "runtime/base/debug_log.h"
#include "runtime/host/executor.h"
#include "runtime/host/local.h"

using cerar::Error;
using cerar::ErrorCode;
using cerar::runtime::CommUse;
using cerar::runtime::guard;
using cerar::runtime::require;

namespace {

// Without padding, so that a later field changes the size.
static_assert(sizeof(cerarCommConfig_t) == sizeof(size_t) + 2 * sizeof(int));
static_assert(sizeof(cerarCallInfo_t) == sizeof(size_t) + 64 + 4 * sizeof(int) + 5 * sizeof(uint64_t) + 16);

cerarCallInfo_t info_of(const cerar::runtime::CallReport& last) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  info.call_index = last.call_index;
  info.scratch_bytes = last.scratch_bytes;
  info.sent_bytes = last.sent_bytes;
  info.messages = last.messages;
  info.launches = last.launches;
  info.lanes = last.lanes;
  info.baseline = last.by_baseline;
  if (last.by_baseline) std::strncpy(info.variant, "baseline", sizeof(info.variant) - 1);
  info.identical =
      last.variant ? cerar::runtime::is_identical_on_all_ranks(*last.variant) : !last.by_baseline;
  if (!last.variant) return info;
  std::strncpy(info.variant, last.variant->name.c_str(), sizeof(info.variant) - 1);
  info.components = last.variant->shape.components;
  info.claimed_error = last.claim.total;
  info.claimed_noise = last.claim.noise;
  return info;
}

}  // namespace

cerarResult_t cerarGetVersion(int* version) {
  return guard([&] {
    require(version, "version");
    *version = CERAR_VERSION;
  });
}

cerarResult_t cerarPlanLoad(cerarPlan_t* plan, const char* directory) {
  return guard([&] {
    require(plan, "plan");
    require(directory, "directory");
    *plan = nullptr;
    auto made = cerar::runtime::load(directory);
    cerar::runtime::log_plan(*made->loaded->plan, directory);
    *plan = made.release();
  });
}

cerarResult_t cerarPlanFree(cerarPlan_t plan) {
  return guard([&] { delete plan; });
}

cerarResult_t cerarPlanWorkers(cerarPlan_t plan, int* workers) {
  return guard([&] {
    require(plan, "plan");
    require(workers, "workers");
    *workers = plan->plan().workers;
  });
}

cerarResult_t cerarCommInitLocal(cerarComm_t* comms, int ranks, cerarPlan_t plan,
                                 const cerarCommConfig_t* config) {
  return guard([&] {
    require(comms, "comms");
    cerar::runtime::check_threads(ranks);
    cerar::runtime::check_workers(plan, ranks);
    const auto timeout = cerar::runtime::checked_timeouts(config).call;
    const auto [shared, kernels] = cerar::runtime::shared_plan(plan, ranks);
    auto transports = cerar::runtime::make_local_transports(ranks, timeout);
    std::vector<std::unique_ptr<cerarComm>> made;
    for (int rank = 0; rank < ranks; ++rank)
      made.push_back(std::make_unique<cerarComm>(
          shared, cerar::runtime::make_host_executor(shared, kernels, std::move(transports[rank])), rank,
          ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      cerar::runtime::log_comm(rank, ranks, "threads of one process", plan ? shared.get() : nullptr);
      comms[rank] = made[rank].release();
    }
  });
}

cerarResult_t cerarCommRank(cerarComm_t comm, int* rank) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::observe);
    require(rank, "rank");
    *rank = comm->rank;
  });
}

cerarResult_t cerarCommSize(cerarComm_t comm, int* ranks) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::observe);
    require(ranks, "ranks");
    *ranks = comm->ranks;
  });
}

cerarResult_t cerarCommDestroy(cerarComm_t comm) {
  return guard([&] { cerar::runtime::destroy(comm); });
}

cerarResult_t cerarCommAbort(cerarComm_t comm) {
  return guard([&] { cerar::runtime::abort_calls(comm); });
}

cerarResult_t cerarAllReduce(const void* send, void* recv, size_t count, cerarDataType_t type,
                             cerarRedOp_t op, cerarComm_t comm, void* stream) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::call);
    if (stream && !comm->takes_stream)
      throw Error(ErrorCode::invalid_argument,
                  "stream is not null; host communicators take no stream, pass NULL.");
    auto call = cerar::runtime::checked_call(send, recv, count, type, op);
    call.stream = stream;
    cerar::set_debug_rank(comm->rank);
    const auto report = comm->executor->all_reduce(call);
    cerar::runtime::log_call(comm->logged, call, report);
    comm->keep_last(report);
  });
}

cerarResult_t cerarCommPrepare(cerarComm_t comm, size_t count, cerarDataType_t type, cerarRedOp_t op) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::call);
    comm->executor->prepare(cerar::runtime::checked_shape(count, type, op));
  });
}

cerarResult_t cerarCommGetAsyncError(cerarComm_t comm, cerarResult_t* error) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::observe);
    require(error, "error");
    const auto failure = comm->executor->failure();
    *error = failure ? cerar::runtime::remember(*failure) : cerarSuccess;
  });
}

cerarResult_t cerarCommLastCall(cerarComm_t comm, cerarCallInfo_t* info) {
  return guard([&] {
    const CommUse use(comm, CommUse::Kind::observe);
    require(info, "info");
    // A caller of an older header has room for less.
    constexpr std::size_t kFirst = offsetof(cerarCallInfo_t, scratch_bytes);
    cerar::runtime::check_struct_size("cerarCallInfo_t", info->size, kFirst, sizeof(cerarCallInfo_t));
    cerarCallInfo_t made = info_of(comm->last_call());
    made.size = info->size;
    std::memcpy(info, &made, info->size);
  });
}
