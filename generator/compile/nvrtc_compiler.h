#pragma once

#include <string>
#include <vector>

namespace cerar::generator {

/// What ptxas reports for one kernel.
struct CompiledKernel {
  std::string entry;
  int registers = 0;
  int spill_bytes = 0;  ///< stores and loads together, per thread
};

struct Cubin {
  std::string bytes;  ///< an ELF file for one architecture; the same source gives the same bytes
  std::vector<CompiledKernel> kernels;  ///< ascending by entry
};

/// False in a build without a CUDA toolkit. Compiling needs neither a GPU nor a driver.
bool nvrtc_available();

/// Architectures that NVRTC compiles for, ascending: "sm_75", ...; empty without NVRTC.
std::vector<std::string> supported_architectures();

/// Throws `unsupported` when `architecture` is not among the supported ones or this build has no NVRTC, and
/// `invalid_plan` with the compiler's log when the source does not compile. Safe to call from several
/// threads.
Cubin compile_cubin(const std::string& source, const std::string& architecture);

/// The same source as PTX, for people and for tests.
std::string compile_ptx(const std::string& source, const std::string& architecture);

}  // namespace cerar::generator
