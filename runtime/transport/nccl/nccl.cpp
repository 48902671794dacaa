#include "runtime/transport/nccl/nccl.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/gpu/shared_library.h"

namespace cerar::runtime {
namespace {

Nccl open_nccl() {
  const SharedLibrary library("libnccl.so.2",
                              "install NCCL 2.18 or newer, or put its folder on LD_LIBRARY_PATH.");
  Nccl nccl;
  // The version first: older libraries lack some of the functions.
  nccl.ncclGetVersion = reinterpret_cast<decltype(nccl.ncclGetVersion)>(library.symbol("ncclGetVersion"));
  int version = 0;
  nccl.ncclGetVersion(&version);
  if (version < kNcclOldest)
    throw Error(ErrorCode::unsupported,
                fmt::format("libnccl.so.2 is version {}.{}.{}, too old; install NCCL 2.18 or newer.",
                            version / 10000, version % 10000 / 100, version % 100));
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_NCCL_LOOKUP(name, parameters) \
  nccl.name = reinterpret_cast<NcclResult(*) parameters>(library.symbol(#name));
  CERAR_NCCL_FUNCTIONS(CERAR_NCCL_LOOKUP)
#undef CERAR_NCCL_LOOKUP
  // NOLINTEND(bugprone-macro-parentheses)
  return nccl;
}

}  // namespace

const Nccl& nccl() {
  static const Nccl opened = open_nccl();
  return opened;
}

std::string words_of(NcclResult result) {
  const char* words = "unknown error";
  switch (result) {
    case kNcclSuccess:
      words = "success";
      break;
    case kNcclUnhandledCudaError:
      words = "a call of CUDA failed";
      break;
    case kNcclSystemError:
      words = "a call of the operating system failed";
      break;
    case kNcclInternalError:
      words = "internal error";
      break;
    case kNcclInvalidArgument:
      words = "invalid argument";
      break;
    case kNcclInvalidUsage:
      words = "invalid usage";
      break;
    case kNcclRemoteError:
      words = "a remote process exited or the network failed";
      break;
    case kNcclInProgress:
      words = "still in progress";
      break;
  }
  return fmt::format("{} (NCCL error {})", words, static_cast<int>(result));
}

void fail(NcclResult result, const std::string& what) {
  throw Error(result == kNcclRemoteError ? ErrorCode::peer_failed : ErrorCode::system,
              fmt::format("{} failed: {}; run with NCCL_DEBUG=WARN to see where.", what, words_of(result)));
}

}  // namespace cerar::runtime
