#include "runtime/api/sibling.h"

#include <fmt/format.h>

#include <string_view>

#include "runtime/api/comm.h"
#include "runtime/api/guard.h"
#include "runtime/base/debug_log.h"

cerarResult_t cerarCommInitTransport(cerarComm_t* comm, const char* build, const char* words,
                                     cerarTransportMaker_t make, void* context, cerarPlan_t plan,
                                     const cerarCommConfig_t* config) {
  using namespace cerar::runtime;
  return guard([&] {
    require(comm, "comm");
    *comm = nullptr;
    require(build, "build");
    require(words, "words");
    require(make, "make");
    if (build != std::string_view(CERAR_BUILD))
      throw cerar::Error(
          cerar::ErrorCode::unsupported,
          fmt::format("libcerar ({}) and the library of the transport {} ({}) were not built together; "
                      "install both from one build.",
                      CERAR_BUILD, words, build));
    const SiblingOffer offer{.timeouts = checked_timeouts(config), .log = &cerar::own_debug_log()};
    std::unique_ptr<Transport> transport(static_cast<Transport*>(make(context, &offer)));
    cerar::set_debug_rank(transport->rank());
    auto made = join_comm(std::move(transport), plan);
    log_comm(made->rank, made->ranks, words, plan ? made->plan.get() : nullptr);
    *comm = made.release();
  });
}
