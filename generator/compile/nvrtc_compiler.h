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

/// "13.0"; empty without NVRTC.
std::string nvrtc_version();

/// Architectures that NVRTC compiles for, ascending: "sm_75", ...; empty without NVRTC.
std::vector<std::string> supported_architectures();

/// What a plan can hold for GPUs: cubins of an architecture ("sm_80"), and PTX of one ("compute_80"), which
/// drivers compile for newer ones.
bool is_ptx_target(const std::string& target);
bool can_compile_for(const std::string& target);

/// The PTX that plans with cubins hold besides: for every GPU since the A100.
inline constexpr const char* kFallbackTarget = "compute_80";

/// Throws `unsupported` when `architecture` is not among the supported ones or this build has no NVRTC, and
/// `invalid_plan` with the compiler's log when the source does not compile. Safe to call from several
/// threads.
Cubin compile_cubin(const std::string& source, const std::string& architecture);

/// The same source as PTX, for drivers to compile, and for people and tests. `architecture`: "compute_80", or
/// "sm_80". Texts of CERAR_MARK stand behind it as comments.
std::string compile_ptx(const std::string& source, const std::string& architecture);

}  // namespace cerar::generator
