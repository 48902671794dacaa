#include "runtime/gpu/nccl/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/gpu/driver.h"

namespace cerar::runtime {
namespace {

using SymbolLookUp = void* (*)(const char* name);

/// A copy of NCCL in this process. There may be several: applications link it statically, and packages bring
/// their own.
struct NcclCopy {
  std::string file;
  int version = 0;  ///< 22809 for 2.28.9
};

/// The library that NCCL's functions are taken from: by `look_up` where it is given; else the file that
/// CERAR_NCCL_LIBRARY names; else one that the process has loaded already: libnccl.so.2, what every library
/// sees, or the only copy that there is; else libnccl.so.2 as the system finds it.
class NcclLibrary {
 public:
  /// Throws `unsupported` where there is none.
  explicit NcclLibrary(SymbolLookUp look_up);

  /// Null when the library lacks it.
  void* find(const char* name) const;
  /// Throws `unsupported`, naming both.
  void* symbol(const char* name) const;

  const std::string& file() const { return file_; }
  /// The caller chose this copy, with a function or with a file that the process had loaded before.
  bool is_chosen() const { return chosen_; }
  /// No copy that could be seen was in the process before.
  bool is_first() const { return first_; }

 private:
  void open(const std::string& name, const char* advice);

  SymbolLookUp look_up_ = nullptr;
  void* handle_ = nullptr;
  std::string file_;
  bool chosen_ = false, first_ = false;
};

/// Every copy that can be seen: of each loaded file that exports ncclGetVersion.
std::vector<NcclCopy> nccl_copies();

/// "2.28.9"
std::string nccl_version_words(int version);

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kProbe = "ncclGetVersion";

std::string file_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "this process";
}

void* loaded(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD); }

NcclLibrary::NcclLibrary(SymbolLookUp look_up) : look_up_(look_up) {
  const std::string named = read_environment().nccl_library;
  if (look_up_) {
    chosen_ = true;
  } else if (!named.empty()) {
    handle_ = loaded(named);
    chosen_ = handle_ != nullptr;
    if (!chosen_) open(named, "CERAR_NCCL_LIBRARY must name the file of NCCL 2.18 or newer.");
  } else {
    handle_ = loaded(kName);
    if (!handle_ && dlsym(RTLD_DEFAULT, kProbe)) {
      handle_ = RTLD_DEFAULT;
    } else if (!handle_) {
      const auto copies = nccl_copies();
      if (copies.size() == 1) handle_ = loaded(copies.front().file);
      if (!handle_)
        open(kName,
             "install NCCL 2.18 or newer, put its folder on LD_LIBRARY_PATH, or name its file in "
             "CERAR_NCCL_LIBRARY.");
    }
  }
  void* const probe = find(kProbe);
  file_ = probe           ? file_of(probe)
          : look_up_      ? "the look-up function"
          : named.empty() ? std::string(kName)
                          : named;
}

void NcclLibrary::open(const std::string& name, const char* advice) {
  first_ = nccl_copies().empty();
  handle_ = SharedLibrary(name, advice).handle();
}

void* NcclLibrary::find(const char* name) const { return look_up_ ? look_up_(name) : dlsym(handle_, name); }

void* NcclLibrary::symbol(const char* name) const {
  if (void* const address = find(name)) return address;
  throw Error(ErrorCode::unsupported,
              fmt::format("NCCL of {} has no function {}; use NCCL 2.18 or newer.", file_, name));
}

std::vector<NcclCopy> nccl_copies() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  std::vector<NcclCopy> copies;
  std::set<void*> seen;
  for (const auto& file : files) {
    // The program itself has no name, and its handle finds what is there for all.
    void* const library = dlopen(file.empty() ? nullptr : file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    void* const probe = dlsym(library, kProbe);
    if (probe && seen.insert(probe).second) {
      NcclCopy copy{.file = file_of(probe)};
      reinterpret_cast<NcclResult (*)(int*)>(probe)(&copy.version);
      copies.push_back(std::move(copy));
    }
    dlclose(library);
  }
  return copies;
}

std::string nccl_version_words(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

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
