#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace software_gpu {

/// What the headers of a cubin say, or the directives of PTX.
struct Image {
  int architecture = 0;  ///< 80 for sm_80
  bool is_ptx = false;
  std::size_t bytes = 0;
  std::set<std::string> functions;  ///< global ones
};

/// Reads an image of unknown size, as cuModuleLoadData is given it. False unless it is a 64-bit
/// little-endian ELF file of machine EM_CUDA, or text that ends with a zero byte and has PTX's .target.
bool read_image(const void* image, Image* read);

}  // namespace software_gpu
