#pragma once

#include <string>

namespace cerar::generator {

/// What host kernels are compiled for where nobody says: this machine's processor (runtime/base/processor.h),
/// but at most "x86-64-v3". Plans are carried to machines that are older by a little, and "x86-64-v4" has
/// nothing to offer to kernels that wait for memory.
std::string host_target();

/// Compiles specialised kernels to a shared object for the host, in process: Clang, then lld. It depends on
/// no other library and holds no paths; the same source and target give the same bytes, and all targets the
/// same results bit for bit. The exported symbols
/// are the kernels and `const unsigned cerar_visit_arguments_size`. Throws `invalid_plan` with Clang's first
/// error where the source does not compile, `unsupported` for a target that is none of processor_targets(),
/// and `system` where lld cannot write its temporary files.
std::string compile_host(const std::string& source, const std::string& target);

/// The same code as assembly, for people and for tests.
std::string compile_host_assembly(const std::string& source, const std::string& target);

}  // namespace cerar::generator
