#include "runtime/gloo/meeting/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <random>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdLength = 32;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool belongs_to_meeting(std::string_view name) {
  constexpr std::string_view kBegin = "cerar-";
  if (!name.starts_with(kBegin)) return false;
  name.remove_prefix(kBegin.size());
  return name.size() > kIdLength && name[kIdLength] == '.' &&
         std::all_of(name.begin(), name.begin() + kIdLength,
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

Directory::Directory(fs::path path) : path_(std::move(path)) {
  std::error_code failure;
  fs::create_directories(path_, failure);
  if (failure) refuse(path_, failure.message());
  if (!fs::is_directory(path_, failure)) refuse(path_, "it is no directory");
}

void Directory::set(const std::string& key, std::string_view bytes) {
  // The name of the unfinished file is nobody else's, on no machine.
  const fs::path unfinished = path_ / fmt::format("cerar-{}.{}.unfinished", key, fresh_id());
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) refuse(unfinished, std::strerror(errno));
  bool good = write_all(file, bytes);
  int reason = errno;
  if (::close(file) != 0 && good) {  // where a network file system tells that the disk is full
    good = false;
    reason = errno;
  }
  if (good && ::rename(unfinished.c_str(), path_of(key).c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (good) return;
  ::unlink(unfinished.c_str());
  refuse(path_of(key), std::strerror(reason));
}

std::optional<std::string> Directory::get(const std::string& key) const {
  const fs::path path = path_of(key);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT || errno == ESTALE || errno == EINTR) return std::nullopt;
    refuse(path, std::strerror(errno));
  }
  std::string bytes;
  char block[65536];
  ssize_t got = 0;
  while ((got = ::read(file, block, sizeof(block))) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
  const int reason = errno;
  ::close(file);
  if (got < 0 && reason == ESTALE) return std::nullopt;
  if (got < 0) refuse(path, std::strerror(reason));
  return bytes;
}

void Directory::remove(const std::string& key) noexcept {
  try {
    std::error_code ignored;
    fs::remove(path_of(key), ignored);
  } catch (const std::exception&) {  // without memory for the name; what stays disturbs nobody
  }
}

void Directory::remove_meetings() noexcept {
  try {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path_, ignored))
      if (belongs_to_meeting(entry.path().filename().string())) fs::remove(entry.path(), ignored);
  } catch (const std::exception&) {
  }
}

void Directory::refuse(const fs::path& path, const std::string& why) const {
  throw Error(ErrorCode::system,
              fmt::format("the store {} cannot hold {}: {}; give a directory that every rank can read and "
                          "write.",
                          name(), path.string(), why));
}

}  // namespace cerar::runtime
