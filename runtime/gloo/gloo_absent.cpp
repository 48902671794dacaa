#include "runtime/base/error.h"
#include "runtime/gloo/transport.h"

namespace cerar::runtime {

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions&) {
  throw Error(ErrorCode::unsupported,
              "this build has no transport between processes; install libgloo-dev, configure "
              " with CERAR_WITH_GLOO=ON, and build again.");
}

}  // namespace cerar::runtime
