#include "runtime/base/temporary_directory.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace cerar {

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

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cerar
