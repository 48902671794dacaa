#include <fmt/format.h>

#include <cstring>
#include <span>

#include "runtime/api/comm.h"
#include "runtime/api/guard.h"
#include "runtime/base/debug_log.h"
#include "runtime/gpu/executor/executor.h"
#include "runtime/gpu/nccl/nccl.h"
#include "runtime/gpu/nccl/transport.h"
#include "runtime/gpu/peer/transport.h"
#include "runtime/include/cerar.h"

using cerar::Error;
using cerar::ErrorCode;
using cerar::runtime::DeviceTransport;
using cerar::runtime::guard;
using cerar::runtime::require;

namespace {

std::unique_ptr<cerarComm> make_comm(std::unique_ptr<DeviceTransport> transport, cerarPlan_t plan,
                                     std::chrono::milliseconds timeout, bool meets) {
  const auto loaded = plan ? plan->loaded : nullptr;
  const auto shared = loaded ? loaded->plan : nullptr;
  const int rank = transport->rank(), ranks = transport->size();
  if (cerar::debug_log_is_on())
    cerar::runtime::log_comm(rank, ranks,
                             (meets ? cerar::runtime::nccl_words() : "copies between devices") +
                                 fmt::format(", device {}", transport->device()->ordinal()),
                             shared.get());
  auto executor = cerar::runtime::make_cuda_executor(loaded, std::move(transport), timeout, meets);
  return std::make_unique<cerarComm>(shared, std::move(executor), rank, ranks, true);
}

}  // namespace

cerarResult_t cerarUseNccl(void* (*look_up)(const char* name)) {
  return guard([&] { cerar::runtime::use_nccl(look_up); });
}

cerarResult_t cerarCommInitNccl(cerarComm_t* comm, void* nccl, cerarPlan_t plan,
                                const cerarCommConfig_t* config) {
  return guard([&] {
    require(comm, "comm");
    require(nccl, "nccl");
    *comm = nullptr;
    const auto timeouts = cerar::runtime::checked_timeouts(config);
    const auto theirs = static_cast<cerar::runtime::NcclComm>(nccl);
    cerar::runtime::check_workers(plan, cerar::runtime::nccl_ranks(theirs));
    *comm =
        make_comm(cerar::runtime::make_nccl_transport(theirs, timeouts), plan, timeouts.call, true).release();
  });
}

cerarResult_t cerarGetNcclId(cerarNcclId_t* id) {
  return guard([&] {
    require(id, "id");
    const auto made = cerar::runtime::make_nccl_id();
    static_assert(sizeof(made) == sizeof(*id));
    std::memcpy(id, &made, sizeof(made));
  });
}

cerarResult_t cerarCommInitNcclId(cerarComm_t* comm, const cerarNcclId_t* id, int rank, int ranks, int device,
                                  cerarPlan_t plan, const cerarCommConfig_t* config) {
  return guard([&] {
    require(comm, "comm");
    require(id, "id");
    *comm = nullptr;
    if (ranks < 1 || rank < 0 || rank >= ranks)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("rank is {} of {} ranks; ranks are numbered from 0.", rank, ranks));
    cerar::runtime::check_workers(plan, ranks);
    const auto timeouts = cerar::runtime::checked_timeouts(config);
    cerar::runtime::NcclUniqueId theirs{};
    std::memcpy(&theirs, id, sizeof(theirs));
    *comm = make_comm(cerar::runtime::make_nccl_transport(theirs, rank, ranks, device, timeouts), plan,
                      timeouts.call, true)
                .release();
  });
}

cerarResult_t cerarCommInitGpus(cerarComm_t* comms, int ranks, const int* devices, cerarPlan_t plan,
                                const cerarCommConfig_t* config) {
  return guard([&] {
    require(comms, "comms");
    require(devices, "devices");
    require(plan, "plan");
    cerar::runtime::check_threads(ranks);
    cerar::runtime::check_workers(plan, ranks);
    const auto timeout = cerar::runtime::checked_timeouts(config).call;
    auto transports =
        cerar::runtime::make_peer_transports(std::span(devices, static_cast<std::size_t>(ranks)), timeout);
    std::vector<std::unique_ptr<cerarComm>> made;
    for (auto& transport : transports) made.push_back(make_comm(std::move(transport), plan, timeout, false));
    for (int rank = 0; rank < ranks; ++rank) comms[rank] = made[static_cast<std::size_t>(rank)].release();
  });
}
