#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cerar::tuner {

enum class ImageFormat { svg, png };

/// By the extension. Throws `invalid_argument` naming the path when it is neither .svg nor .png.
ImageFormat image_format(const std::filesystem::path& path);

/// Refuses early what `write_image` cannot write: throws as `image_format` does, and `system` naming the
/// path when its parent is no directory that takes files or when the path is a directory.
void check_image_path(const std::filesystem::path& path);

/// Writes the file in one step: what was at the path stays whole until the new bytes take its place. Throws
/// as `check_image_path` does, or `system` naming the path, and leaves nothing behind.
void write_image(const std::filesystem::path& path, std::string_view bytes);

/// What gnuplot draws from a script (UTF-8), which is its standard input: the bytes of the image. The
/// script chooses terminal and size and sets no output. The user's start-up files are not read, so the same
/// script gives the same bytes. Throws `unsupported` when there is no gnuplot on PATH, and `system` with
/// gnuplot's own words when it fails or draws nothing.
std::string draw(const std::string& script);

}  // namespace cerar::tuner
