#pragma once

#include <cstddef>
#include <string>

namespace cerar::generator {

/// Lays generated source out in the style of this repository (clang-format: Google, 110 columns), from byte
/// `begin` on; what comes before it and the tables of parameters are laid out already and stay as they are.
std::string lay_out(const std::string& source, std::size_t begin);

}  // namespace cerar::generator
