#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace software_gpu {

/// What the headers of a cubin say.
struct Cubin {
  int architecture = 0;  ///< 80 for sm_80
  std::size_t bytes = 0;
  std::set<std::string> functions;  ///< global ones
};

/// Reads an image of unknown size, as cuModuleLoadData is given it. False unless it is a 64-bit
/// little-endian ELF file of machine EM_CUDA.
bool read_cubin(const void* image, Cubin* cubin);

}  // namespace software_gpu
