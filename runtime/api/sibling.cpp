#include "runtime/api/sibling.h"

#include <fmt/format.h>

#include <string_view>

#include "runtime/api/comm.h"
#include "runtime/api/guard.h"

cerarResult_t cerarCommInitTransport(cerarComm_t* comm, const char* build, cerarTransportMaker_t make,
                                     void* context, cerarPlan_t plan, int timeout_ms) {
  using namespace cerar::runtime;
  return guard([&] {
    require(comm, "comm");
    *comm = nullptr;
    require(build, "build");
    require(make, "make");
    if (build != std::string_view(CERAR_BUILD))
      throw cerar::Error(
          cerar::ErrorCode::unsupported,
          fmt::format("libcerar ({}) and libcerar_mpi ({}) were not built together; install both "
                      "from one build.",
                      CERAR_BUILD, build));
    const cerar::Timeouts timeouts = checked_timeouts(timeout_ms);
    std::unique_ptr<Transport> transport(static_cast<Transport*>(make(context, &timeouts)));
    *comm = join_comm(std::move(transport), plan).release();
  });
}
