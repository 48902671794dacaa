#include "tuner/check/scratch_directory.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace cerar::tuner {

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "cerar-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw Error(ErrorCode::system,
                fmt::format("a temporary directory {} cannot be made: {}.", name, std::strerror(errno)));
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cerar::tuner
