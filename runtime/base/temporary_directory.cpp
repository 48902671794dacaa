#include "runtime/base/temporary_directory.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/base/error.h"

namespace cerar {

void remove_tree(const std::filesystem::path& directory) noexcept try {
  std::error_code failure;
  if (std::filesystem::symlink_status(directory, failure).type() != std::filesystem::file_type::directory) {
    ::unlink(directory.c_str());
    return;
  }
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure))
    entries.push_back(entry->path());
  for (const auto& entry : entries) remove_tree(entry);
  ::rmdir(directory.c_str());
} catch (const std::bad_alloc&) {
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code failure;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failure);
  std::string name = ((failure ? std::filesystem::path("/tmp") : parent) / "cerar-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw Error(
        ErrorCode::system,
        fmt::format(
            "no temporary directory {} can be made: {}; set TMPDIR to a directory that can be written.", name,
            std::strerror(errno)));
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() { remove_tree(path_); }

}  // namespace cerar
