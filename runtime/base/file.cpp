#include "runtime/base/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/base/error.h"

namespace cerar {

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorCode::system, fmt::format("{} is a directory where a file is expected.", path.string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string bytes;
  if (file) {
    char block[1 << 16];
    for (std::size_t got; (got = std::fread(block, 1, sizeof(block), file.get())) > 0;)
      bytes.append(block, got);
  }
  if (!file || std::ferror(file.get()))
    throw Error(ErrorCode::system, fmt::format("{} cannot be read: {}; give a readable file.", path.string(),
                                               std::strerror(errno)));
  return bytes;
}

}  // namespace cerar
