#include "runtime/gpu/nccl/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <set>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/gpu/nccl/nccl_api.h"
#include "runtime/gpu/shared_library.h"

namespace cerar::runtime {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kProbe = "ncclGetVersion";

std::string file_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "this process";
}

void* loaded(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD); }

}  // namespace

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

}  // namespace cerar::runtime
