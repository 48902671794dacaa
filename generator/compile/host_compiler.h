#pragma once

#include <string>

namespace cerar::generator {

/// What host kernels built on this machine need of a machine: "x86-64-v3" where it has AVX2 and FMA, "x86-64"
/// on older ones, "generic-<arch>" on other architectures.
std::string host_target();

/// Compiles specialised kernels to a shared object for the host, in process: Clang, then lld. It depends on
/// no other library and holds no paths; the same source and target give the same bytes. The exported symbols
/// are the kernels and `const unsigned cerar_visit_arguments_size`. Throws `invalid_plan` with Clang's first
/// error where the source does not compile, `unsupported` for a target of another architecture, and `system`
/// where lld cannot write its temporary files.
std::string compile_host(const std::string& source, const std::string& target);

/// The same code as assembly, for people and for tests.
std::string compile_host_assembly(const std::string& source, const std::string& target);

}  // namespace cerar::generator
