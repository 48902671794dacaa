#include "runtime/gpu/nccl/nccl.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "runtime/base/error.h"
#include "runtime/gpu/nccl/nccl_library.h"

namespace cerar::runtime {
namespace {

// NCCL as it was opened, and where it came from.
struct Opened {
  explicit Opened(SymbolLookUp look_up) : copy(look_up) {
    // The version first: older libraries lack some of the functions.
    functions.ncclGetVersion =
        reinterpret_cast<decltype(functions.ncclGetVersion)>(copy.symbol("ncclGetVersion"));
    functions.ncclGetVersion(&version);
    if (version < kNcclOldest)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} is version {}, too old; install NCCL 2.18 or newer.", copy.file(),
                              nccl_version_words(version)));
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_NCCL_SYMBOL(name, parameters) \
  functions.name = reinterpret_cast<NcclResult(*) parameters>(copy.symbol(#name));
#define CERAR_NCCL_FIND(name, parameters) \
  functions.name = reinterpret_cast<NcclResult(*) parameters>(copy.find(#name));
    CERAR_NCCL_FUNCTIONS(CERAR_NCCL_SYMBOL)
    CERAR_NCCL_NEWER_FUNCTIONS(CERAR_NCCL_FIND)
#undef CERAR_NCCL_FIND
#undef CERAR_NCCL_SYMBOL
    // NOLINTEND(bugprone-macro-parentheses)
  }

  std::string words() const { return fmt::format("NCCL {} of {}", nccl_version_words(version), copy.file()); }

  NcclLibrary copy;
  int version = 0;
  Nccl functions;
};

std::mutex choosing;
SymbolLookUp given = nullptr;                      // guarded by it
std::atomic<const Opened*> opened_nccl = nullptr;  // set once, under it

const Opened& opened() {
  if (const Opened* const ready = opened_nccl.load()) return *ready;
  const std::lock_guard lock(choosing);
  if (!opened_nccl.load()) opened_nccl = new Opened(given);  // never closed
  return *opened_nccl.load();
}

}  // namespace

const Nccl& nccl() { return opened().functions; }

void use_nccl(SymbolLookUp look_up) {
  const std::lock_guard lock(choosing);
  if (const Opened* const ready = opened_nccl.load())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is in use already; choose before the first GPU communicator and the first id "
                            "are made.",
                            ready->words()));
  given = look_up;
}

void require_callers_nccl() {
  const Opened& ours = opened();
  if (ours.copy.is_chosen()) return;
  constexpr const char* kChoose = "hand over the functions of the one that did with cerarUseNccl";
  bool has_others = false;
  for (const auto& other : nccl_copies()) {
    has_others = has_others || other.file != ours.copy.file();
    if (other.version != ours.version)
      throw Error(ErrorCode::unsupported,
                  fmt::format("CERAR uses {}, but NCCL {} of {} is in this process as well and may have made "
                              "the ncclComm_t; {}, or name its file in CERAR_NCCL_LIBRARY.",
                              ours.words(), nccl_version_words(other.version), other.file, kChoose));
  }
  if (ours.copy.is_first() && !has_others)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("no NCCL was loaded before CERAR opened {}, so a copy that cannot be seen made the "
                    "ncclComm_t, of a version that is not known; {}.",
                    ours.words(), kChoose));
}

std::string nccl_words() { return opened().words(); }

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
