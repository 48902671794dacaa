#include "runtime/include/cerar_gloo.h"

#include "runtime/api/sibling.h"
#include "runtime/base/debug_log.h"
#include "runtime/base/error.h"
#include "runtime/gloo/transport.h"

cerarResult_t cerarCommInitGloo(cerarComm_t* comm, int rank, int ranks, cerarPlan_t plan, const char* store,
                                const char* interface_name, const cerarCommConfig_t* config) {
  using namespace cerar::runtime;
  const auto make = [&](const cerar::Timeouts& timeouts) {
    if (!store) throw cerar::Error(cerar::ErrorCode::invalid_argument, "store is a null pointer.");
    cerar::set_debug_rank(rank);
    return make_gloo_transport({.rank = rank,
                                .ranks = ranks,
                                .store = store,
                                .interface_name = interface_name ? interface_name : "",
                                .timeout = timeouts.call,
                                .meeting_timeout = timeouts.meeting});
  };
  return join_with(comm, "Gloo", make, plan, config);
}
