#include "runtime/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace cerar {
namespace {

// Bytes are read straight into the result: callers' threads may have small stacks.
constexpr std::size_t kBlock = std::size_t{1} << 16;

[[noreturn]] void refuse(const std::filesystem::path& path, int reason) {
  throw Error(ErrorCode::system, fmt::format("{} cannot be read: {}; give a readable file.", path.string(),
                                             std::strerror(reason)));
}

struct stat about(const Descriptor& file, const std::filesystem::path& path) {
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) refuse(path, errno);
  if (S_ISDIR(status.st_mode))
    throw Error(ErrorCode::system, fmt::format("{} is a directory where a file is expected.", path.string()));
  return status;
}

[[noreturn]] void refuse_length(const std::filesystem::path& path, std::uint64_t most_bytes) {
  throw Error(ErrorCode::system, fmt::format("{} holds more than {} bytes, which no file for CERAR does.",
                                             path.string(), most_bytes));
}

std::string read_all(const Descriptor& file, const std::filesystem::path& path, std::uint64_t most_bytes) {
  std::string bytes;
  for (std::size_t used = 0;;) {
    bytes.resize(used + kBlock);
    const ssize_t got = ::read(file.number(), bytes.data() + used, kBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, errno);
    used += static_cast<std::size_t>(got);
    if (used > most_bytes) refuse_length(path, most_bytes);
    if (got > 0) continue;
    bytes.resize(used);
    return bytes;
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) refuse(path, errno);
  about(file, path);
  return read_all(file, path, most_bytes);
}

std::optional<std::string> read_file_below(const Descriptor& directory, const std::string& file,
                                           const std::filesystem::path& path, std::uint64_t most_bytes) {
  // A pipe would wait for a writer.
  const Descriptor opened(::openat(directory.number(), file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) {
    // ESTALE: it was removed on the machine that holds it.
    if (errno == ENOENT || errno == ENOTDIR || errno == ESTALE) return std::nullopt;
    refuse(path, errno);
  }
  const struct stat status = about(opened, path);
  if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > most_bytes)
    refuse_length(path, most_bytes);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorCode::system,
                fmt::format("{} is a device or a pipe where a file is expected.", path.string()));
  return read_all(opened, path, most_bytes);
}

bool write_bytes(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace cerar
