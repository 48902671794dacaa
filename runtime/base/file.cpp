#include "runtime/base/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/base/error.h"

namespace cerar {

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorCode::system, fmt::format("{} is a directory where a file is expected.", path.string()));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream.good() && !stream.eof())
    throw Error(ErrorCode::system,
                fmt::format("{} cannot be read: {}.", path.string(), std::strerror(errno ? errno : EIO)));
  return bytes;
}

}  // namespace cerar
