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
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/plan/plan_file.h"

namespace cerar::generator {
namespace {

namespace fs = std::filesystem;

/// That a staging directory's name has more than its destination's: ".", ".", a process, "-" and a number.
constexpr std::size_t kStagingCharacters = 24;

[[noreturn]] void fail(const fs::path& path, const char* what, int reason) {
  throw Error(ErrorCode::system, fmt::format("{} cannot be {}: {}; choose a directory that can be written.",
                                             path.string(), what, std::strerror(reason)));
}

/// Of what is not there, that is known.
void fail_if_hidden(const fs::path& path, const std::error_code& failure) {
  if (failure && failure != std::errc::no_such_file_or_directory && failure != std::errc::not_a_directory)
    fail(path, "reached", failure.value());
}

/// Absolute, without links and trailing slashes: renaming acts on the directory itself and its true parent.
fs::path resolve(const fs::path& destination) {
  std::error_code failure;
  fs::path path = fs::absolute(destination, failure);
  if (!failure) path = fs::weakly_canonical(path, failure);
  if (failure) fail(destination, "reached", failure.value());
  return path.has_filename() ? path : path.parent_path();
}

/// Holds a plan and nothing that a plan does not have: replacing it loses no one's work.
bool is_plan_directory(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure) || !fs::exists(path / runtime::kPlanFileName, failure)) return false;
  for (fs::directory_iterator at(path, failure), end; !failure && at != end; at.increment(failure))
    if (at->path().filename() != runtime::kPlanFileName && at->path().filename() != "kernels") return false;
  return !failure;
}

void check_resolved(const fs::path& destination, bool replace) {
  const fs::path parent = destination.parent_path();
  std::error_code failure;
  const bool has_parent = fs::is_directory(parent, failure);
  fail_if_hidden(parent, failure);
  if (!has_parent)
    throw Error(ErrorCode::system, fmt::format("{} cannot be written: its parent {} is not a directory.",
                                               destination.string(), parent.string()));
  if (::access(parent.c_str(), W_OK | X_OK) != 0) fail(parent, "written", errno);
  // What is written first has a longer name.
  const auto name_max = ::pathconf(parent.c_str(), _PC_NAME_MAX);
  if (name_max > 0 &&
      destination.filename().native().size() + kStagingCharacters > static_cast<std::size_t>(name_max))
    fail(destination, "written", ENAMETOOLONG);
  const fs::file_status status = fs::symlink_status(destination, failure);
  fail_if_hidden(destination, failure);
  if (!fs::exists(status)) return;
  if (is_plan_directory(destination)) {
    if (replace) return;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} already holds a plan; choose another directory, or leave out --keep to replace it.",
                    destination.string()));
  }
  const bool is_free = fs::is_directory(destination, failure) && fs::is_empty(destination, failure);
  fail_if_hidden(destination, failure);
  if (!is_free)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{} exists and is not a plan directory (plan.yaml and kernels alone); choose another one.",
            destination.string()));
}

Descriptor open(const fs::path& path, int flags) {
  Descriptor opened(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!opened.is_open()) fail(path, "opened", errno);
  return opened;
}

void flush(const fs::path& directory) {
  const Descriptor descriptor = open(directory, O_RDONLY | O_DIRECTORY);
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
  const Descriptor descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!write_bytes(descriptor, bytes)) fail(path, "written", errno);
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
