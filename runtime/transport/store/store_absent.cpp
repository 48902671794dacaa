#include "runtime/base/error.h"
#include "runtime/transport/store/rendezvous.h"

namespace cerar::runtime {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      ErrorCode::unsupported,
      "this build has no store where processes meet; install libgloo-dev, libcpp-httplib-dev and pkgconf, "
      "configure with CERAR_WITH_GLOO=ON, and build again.");
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string&, int) { refuse(); }
Meeting meet(Store&, int, int, std::chrono::milliseconds) { refuse(); }
void clean_up(Store&, int) {}

}  // namespace cerar::runtime
