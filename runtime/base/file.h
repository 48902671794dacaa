#pragma once

#include <filesystem>
#include <string>

namespace cerar {

/// The whole file as bytes. Throws `system` naming the path and the operating system's reason.
std::string read_file(const std::filesystem::path& path);

}  // namespace cerar
