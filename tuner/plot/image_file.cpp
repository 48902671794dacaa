#include "tuner/plot/image_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/base/error.h"

namespace cerar::tuner {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int reason) {
  throw Error(ErrorCode::system, fmt::format("{} cannot be written: {}; choose another file.", path.string(),
                                             std::strerror(reason)));
}

/// Absolute and without links: the rename replaces the file itself.
fs::path resolve(const fs::path& path) {
  std::error_code failure;
  fs::path resolved = fs::absolute(path, failure);
  if (!failure) resolved = fs::weakly_canonical(resolved, failure);
  if (failure) fail(path, failure.value());
  return resolved;
}

/// A file beside its destination; gone with its owner unless it took the destination's place.
class StagedFile {
 public:
  explicit StagedFile(const fs::path& destination)
      : destination_(destination),
        path_(destination.parent_path() / fmt::format(".cerar-plot.{}", ::getpid())),
        number_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail(destination_, errno);
  }
  ~StagedFile() {
    ::close(number_);
    if (!published_) ::unlink(path_.c_str());
  }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail(destination_, errno);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void publish() {
    if (::fsync(number_) != 0 || ::rename(path_.c_str(), destination_.c_str()) != 0)
      fail(destination_, errno);
    published_ = true;
  }

 private:
  fs::path destination_, path_;
  int number_;
  bool published_ = false;
};

}  // namespace

ImageFormat image_format(const fs::path& path) {
  if (path.extension() == ".svg") return ImageFormat::svg;
  if (path.extension() == ".png") return ImageFormat::png;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the plot '{}' ends neither in .svg nor in .png; name one of these formats.",
                          path.string()));
}

void check_image_path(const fs::path& path) {
  image_format(path);
  const fs::path resolved = resolve(path);
  std::error_code failure;
  if (fs::is_directory(resolved, failure)) fail(path, EISDIR);
  if (failure && failure != std::errc::no_such_file_or_directory) fail(path, failure.value());
  if (::access(resolved.parent_path().c_str(), W_OK | X_OK) != 0) fail(path, errno);
  if (!fs::is_directory(resolved.parent_path(), failure)) fail(path, ENOTDIR);
}

void write_image(const fs::path& path, std::string_view bytes) {
  check_image_path(path);
  StagedFile file(resolve(path));
  file.write(bytes);
  file.publish();
}

}  // namespace cerar::tuner
