#include "runtime/host/memory_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <variant>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"

namespace cerar {
namespace {

/// What opening came to: a handle of dlopen's, or why the system refused.
using Opened = std::variant<void*, std::string>;

std::string reason(const std::string& what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

template <typename Header>
std::optional<Header> read_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return header;
}

/// Segments that lie outside of the file would raise SIGBUS within dlopen, which looks at little else.
bool is_library(std::string_view bytes) {
  const auto header = read_at<ElfW(Ehdr)>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN ||
      header->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header->e_phentsize != sizeof(ElfW(Phdr)))
    return false;
  bool is_dynamic = false;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<ElfW(Phdr)>(bytes, header->e_phoff + i * sizeof(ElfW(Phdr)));
    if (!segment || segment->p_offset > bytes.size() || segment->p_filesz > bytes.size() - segment->p_offset)
      return false;
    is_dynamic = is_dynamic || segment->p_type == PT_DYNAMIC;
  }
  return is_dynamic;
}

/// Whether code of this file may be mapped; errno says why not.
bool may_run(const Descriptor& file, std::size_t size) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) return false;
  ::munmap(mapped, size);
  return true;
}

/// Throws where the library itself is at fault.
Opened open_path(const std::string& path, const std::string& name) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const words = ::dlerror();
    const std::string why = words ? words : "unknown error";
    for (const int short_of : {ENOMEM, EMFILE, ENFILE})
      if (why.ends_with(std::strerror(short_of))) return why;
    throw Error(ErrorCode::invalid_plan, fmt::format("{} cannot be opened: {}.", name, why));
  }
  // dlopen hands out a library that it has open already where it takes the two for the same.
  const link_map* opened = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &opened) == 0 && opened->l_name == path) return handle;
  ::dlclose(handle);
  throw Error(ErrorCode::internal, fmt::format("opening {} gave another library.", name));
}

/// A path of the file that no other library was ever opened by: a descriptor's number is used again, and
/// dlopen compares names first. The number of the opening is written in "/" and "/.", which lead nowhere.
std::string unique_path(const Descriptor& file) {
  static std::atomic<std::uint64_t> openings{0};
  std::string path = "/proc/self/fd";
  for (std::uint64_t number = openings.fetch_add(1) + 1; number > 0; number /= 2)
    path += number % 2 ? "/." : "/";
  return fmt::format("{}/{}", path, file.number());
}

Opened open_memory_file(std::string_view bytes, const std::string& name) {
#ifdef MFD_EXEC
  constexpr unsigned kExecutable = MFD_EXEC;
#else
  constexpr unsigned kExecutable = 0x10;  // Linux 6.3 and newer ask for it
#endif
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const std::string label = "cerar-" + name.substr(name.size() > 200 ? name.size() - 200 : 0);
  Descriptor file(::memfd_create(label.c_str(), kFlags | kExecutable));
  if (!file.is_open() && errno == EINVAL) file = Descriptor(::memfd_create(label.c_str(), kFlags));
  if (!file.is_open()) return reason("a memory file");
  if (!write_bytes(file, bytes) ||
      ::fcntl(file.number(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
      !may_run(file, bytes.size()))
    return reason("a memory file");
  const std::string path = unique_path(file);
  if (::access(path.c_str(), R_OK) != 0) return reason("/proc/self/fd");
  return open_path(path, name);
}

Opened open_temporary_file(std::string_view bytes, const std::string& name) {
  std::optional<TemporaryDirectory> directory;
  try {
    directory.emplace();
  } catch (const Error& error) {
    std::string why = error.what();
    why.pop_back();
    return why;
  }
  static std::atomic<std::uint64_t> openings{0};
  const auto path = directory->path() / fmt::format("{}.so", openings.fetch_add(1));
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (!file.is_open() || !write_bytes(file, bytes) || !may_run(file, bytes.size()))
    return reason("a temporary file in " + directory->path().string());
  return open_path(path.string(), name);
}

}  // namespace

void MemoryLibrary::Close::operator()(void* library) const { ::dlclose(library); }

MemoryLibrary::MemoryLibrary(std::string_view bytes, const std::string& name) {
  if (!is_library(bytes))
    throw Error(
        ErrorCode::invalid_plan,
        fmt::format("{} cannot be opened: it is no whole shared library of this kind of machine.", name));
  Opened opened = open_memory_file(bytes, name);
  if (const auto* first = std::get_if<std::string>(&opened)) {
    const std::string before = *first;
    opened = open_temporary_file(bytes, name);
    if (const auto* second = std::get_if<std::string>(&opened))
      throw Error(
          ErrorCode::system,
          fmt::format("{} cannot be opened, because the system lets code run neither from memory ({}) "
                      "nor from a temporary file ({}); allow one of them, or set TMPDIR to a "
                      "directory whose filesystem is not mounted noexec.",
                      name, before, *second));
  }
  handle_.reset(std::get<void*>(opened));
}

void* MemoryLibrary::symbol(const std::string& symbol) const {
  return ::dlsym(handle_.get(), symbol.c_str());
}

}  // namespace cerar
