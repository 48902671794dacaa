#pragma once

#include <memory>

#include "runtime/base/debug_log.h"
#include "runtime/base/environment.h"
#include "runtime/host/transport.h"
#include "runtime/include/cerar.h"

namespace cerar::runtime {

/// What libcerar gives to the library of a transport.
struct SiblingOffer {
  Timeouts timeouts;    ///< checked limits of waits
  const DebugLog* log;  ///< the process's, which libcerar has
};

/// Makes the communicator of one rank on a transport that a library beside libcerar has (libcerar_gloo,
/// libcerar_mpi): how it uses libcerar, of which it sees the C API alone. `make` gets the limits of waits,
/// and may throw; what it throws becomes a code and a sentence in libcerar. `plan` null takes the exact ring.
/// `words` name the transport in the debug log.
///
/// A transport is a C++ object that crosses from one library to the other, which holds when both were built
/// together: CERAR_BUILD, compared in libcerar, is the version and a digest of the headers that they share.
template <typename Make>
cerarResult_t join_with(cerarComm_t* comm, const char* words, Make make, cerarPlan_t plan,
                        const cerarCommConfig_t* config) {
  const auto call = [](void* made_by, const void* offered) -> void* {
    const auto& offer = *static_cast<const SiblingOffer*>(offered);
    use_debug_log(*offer.log);
    std::unique_ptr<Transport> made = (*static_cast<Make*>(made_by))(offer.timeouts);
    return made.release();
  };
  return cerarCommInitTransport(comm, CERAR_BUILD, words, call, &make, plan, config);
}

}  // namespace cerar::runtime
