#pragma once

#include <string>

namespace cerar::tuner {

/// What gnuplot draws from a script (UTF-8), which is its standard input: the bytes of the image. The
/// script chooses terminal and size and sets no output. The user's start-up files are not read, so the same
/// script gives the same bytes. Throws `unsupported` when there is no gnuplot on PATH, and `system` with
/// gnuplot's own words when it fails or draws nothing.
std::string draw(const std::string& script);

}  // namespace cerar::tuner
