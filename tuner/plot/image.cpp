#include "tuner/plot/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
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

namespace {

[[noreturn]] void fail_drawing(const std::string& what, int reason) {
  throw Error(ErrorCode::system, fmt::format("{}: {}.", what, std::strerror(reason)));
}

/// Text in memory that a child can have as a standard stream. Unlike pipes, which fill up, three of them need
/// no care about who reads when.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("cerar-plot", MFD_CLOEXEC)) {
    if (number_ < 0) fail_drawing("no memory file can be made for gnuplot", errno);
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int number() const { return number_; }

  void fill(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(number_, text.data(), text.size());
      if (written < 0 && errno != EINTR) fail_drawing("the script for gnuplot cannot be kept", errno);
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(number_, 0, SEEK_SET);
  }

  std::string content() {
    ::lseek(number_, 0, SEEK_SET);
    std::string text;
    std::string block(65536, '\0');
    for (;;) {
      const ssize_t got = ::read(number_, block.data(), block.size());
      if (got < 0 && errno != EINTR) fail_drawing("what gnuplot wrote cannot be read", errno);
      if (got == 0) return text;
      if (got > 0) text.append(block, 0, static_cast<std::size_t>(got));
    }
  }

 private:
  int number_;
};

/// Exit status of `gnuplot --default-settings -`, as waitpid reports it.
int run(int in, int out, int err) {
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, in, 0);
  posix_spawn_file_actions_adddup2(&streams, out, 1);
  posix_spawn_file_actions_adddup2(&streams, err, 2);
  // cerar-tune ignores broken pipes, gnuplot need not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t to_default;
  sigemptyset(&to_default);
  sigaddset(&to_default, SIGPIPE);
  sigaddset(&to_default, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &to_default);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  char program[] = "gnuplot", defaults[] = "--default-settings", standard_input[] = "-";
  char* const words[] = {program, defaults, standard_input, nullptr};
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, program, &streams, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&streams);
  if (failure == ENOENT)
    throw Error(ErrorCode::unsupported,
                "there is no gnuplot on PATH, which draws the plot; install the package gnuplot-nox.");
  if (failure != 0) fail_drawing("gnuplot cannot be started", failure);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail_drawing("gnuplot cannot be waited for", errno);
  return status;
}

/// Gnuplot repeats the script's line before its message; the last line that says something is the message.
std::string last_line(std::string text) {
  while (!text.empty() && std::strchr(" \n\r\t.", text.back()) != nullptr) text.pop_back();
  const auto begin = text.rfind('\n');
  text.erase(0, begin == std::string::npos ? 0 : begin + 1);
  text.erase(0, text.find_first_not_of(" \t"));
  return text.empty() ? "without a word" : one_line(text);
}

}  // namespace

std::string draw(const std::string& script) {
  MemoryFile in, out, err;
  in.fill(script);
  const int status = run(in.number(), out.number(), err.number());
  std::string image = out.content();
  if (WIFSIGNALED(status))
    throw Error(ErrorCode::system,
                fmt::format("gnuplot was ended by signal {}; try the command again.", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0 || image.empty())
    throw Error(ErrorCode::system,
                fmt::format("gnuplot failed with exit code {} ({}); check that gnuplot-nox 5.4 or later is "
                            "first on PATH.",
                            WEXITSTATUS(status), last_line(err.content())));
  return image;
}

}  // namespace cerar::tuner
