// Stands in for nvrtc_compiler.cpp in builds without a CUDA toolkit.
#include "generator/compile/nvrtc_compiler.h"
#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

[[noreturn]] void refuse(const std::string& architecture) {
  throw Error(ErrorCode::unsupported, "this build of CERAR has no NVRTC and cannot compile for " +
                                          architecture +
                                          "; configure it with CERAR_WITH_NVRTC=ON and a CUDA toolkit.");
}

}  // namespace

bool nvrtc_available() { return false; }

std::string nvrtc_version() { return ""; }

std::vector<std::string> supported_architectures() { return {}; }

bool is_ptx_target(const std::string& target) { return target.starts_with("compute_"); }

bool can_compile_for(const std::string&) { return false; }

Cubin compile_cubin(const std::string&, const std::string& architecture) { refuse(architecture); }

std::string compile_ptx(const std::string&, const std::string& architecture) { refuse(architecture); }

}  // namespace cerar::generator
