#include "generator/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/plan_file.h"

namespace cerar::generator {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* what, int reason) {
  throw Error(ErrorCode::system,
              fmt::format("{} cannot be {}: {}.", path.string(), what, std::strerror(reason)));
}

/// Absolute, without links and trailing slashes: renaming acts on the directory itself and its true parent.
fs::path resolve(const fs::path& destination) {
  std::error_code failure;
  fs::path path = fs::weakly_canonical(fs::absolute(destination), failure);
  if (failure) fail(destination, "resolved", failure.value());
  return path.has_filename() ? path : path.parent_path();
}

/// Holds a plan and nothing that a plan does not have: replacing it loses no one's work.
bool is_plan_directory(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure) || !fs::exists(path / runtime::kPlanFileName, failure)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failure))
    if (entry.path().filename() != runtime::kPlanFileName && entry.path().filename() != "kernels")
      return false;
  return !failure;
}

void check_resolved(const fs::path& destination, bool replace) {
  const fs::path parent = destination.parent_path();
  std::error_code failure;
  if (!fs::is_directory(parent, failure))
    throw Error(ErrorCode::system, fmt::format("{} cannot be written: its parent {} is not a directory.",
                                               destination.string(), parent.string()));
  if (::access(parent.c_str(), W_OK | X_OK) != 0) fail(parent, "written", errno);
  if (!fs::exists(fs::symlink_status(destination, failure))) return;
  if (is_plan_directory(destination)) {
    if (replace) return;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} already holds a plan; choose another directory, or leave out --keep to replace it.",
                    destination.string()));
  }
  if (!fs::is_directory(destination, failure) || !fs::is_empty(destination, failure))
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{} exists and is not a plan directory (plan.yaml and kernels alone); choose another one.",
            destination.string()));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail(path, "opened", errno);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void flush(const fs::path& directory) {
  const Descriptor descriptor(directory, O_RDONLY | O_DIRECTORY);
  // Some filesystems do not offer this for directories (EINVAL); the rename is then as durable as they make
  // it.
  if (::fsync(descriptor.number()) != 0 && errno != EINVAL) fail(directory, "flushed", errno);
}

/// A new directory beside `destination`; mkdir rather than mkdtemp so that the user's umask decides its mode.
fs::path make_staging(const fs::path& destination) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    const fs::path path =
        destination.parent_path() /
        fmt::format(".{}.{}-{}", destination.filename().string(), ::getpid(), counter.fetch_add(1));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) fail(path, "made", errno);
  }
}

/// Takes the place of nothing or of an empty directory, in one step; false where something stands there.
bool take_free_place(const fs::path& staging, const fs::path& destination) {
  if (::rename(staging.c_str(), destination.c_str()) == 0) return true;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) fail(destination, "written", errno);
  return false;
}

/// Swaps two directories in one step where the filesystem can, otherwise in two with a way back; false where
/// the destination has gone.
bool exchange(const fs::path& staging, const fs::path& destination) {
  if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, destination.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno == ENOENT) return false;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) fail(destination, "replaced", errno);
  const fs::path old = make_staging(destination);
  if (::rename(destination.c_str(), old.c_str()) != 0) {
    const int reason = errno;
    ::rmdir(old.c_str());
    if (reason == ENOENT) return false;
    fail(destination, "replaced", reason);
  }
  if (::rename(staging.c_str(), destination.c_str()) != 0) {
    const int reason = errno;
    ::rename(old.c_str(), destination.c_str());
    fail(destination, "replaced", reason);
  }
  ::rename(old.c_str(), staging.c_str());
  return true;
}

}  // namespace

StagedDirectory::StagedDirectory(const fs::path& destination, bool replace)
    : destination_(resolve(destination)), replace_(replace) {
  check_resolved(destination_, replace);
  staging_ = make_staging(destination_);
}

StagedDirectory::~StagedDirectory() {
  // After an exchange this is the plan that was replaced.
  remove_tree(staging_);
}

void StagedDirectory::write(const fs::path& file, std::string_view bytes) {
  const fs::path path = staging_ / file;
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure) fail(path.parent_path(), "made", failure.value());
  directories_.insert(path.parent_path());
  const Descriptor descriptor(path, O_WRONLY | O_CREAT | O_EXCL);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor.number()) != 0) fail(path, "flushed", errno);
}

void StagedDirectory::publish() {
  for (const fs::path& directory : directories_) flush(directory);
  flush(staging_);
  // Others may publish there as well, or take away what stood there: whoever comes first is heeded.
  while (!take_free_place(staging_, destination_)) {
    check_resolved(destination_, replace_);
    if (!exchange(staging_, destination_)) continue;
    if (is_plan_directory(staging_)) break;
    // What was exchanged is no plan any more, and someone's work: back with it.
    exchange(staging_, destination_);
    check_resolved(destination_, replace_);
  }
  flush(destination_.parent_path());
}

void StagedDirectory::check(const fs::path& destination, bool replace) {
  check_resolved(resolve(destination), replace);
}

}  // namespace cerar::generator
