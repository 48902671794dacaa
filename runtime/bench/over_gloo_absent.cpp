#include "runtime/base/error.h"
#include "runtime/bench/comparison.h"

namespace cerar::runtime {

void over_gloo(const Arguments&, const std::function<void(const Comparison&)>&) {
  throw Error(ErrorCode::unsupported,
              "--transport is gloo, but this program was built without Gloo; install libgloo-dev, configure "
              "with CERAR_WITH_GLOO=ON, and build again.");
}

}  // namespace cerar::runtime
