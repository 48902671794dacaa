#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/kernel_spec.h"

namespace cerar::generator {

/// What the generator works from; the runtime knows it too, for it compares kernels with the plan's text.
using runtime::FloatTable;
using runtime::KernelSpec;
using runtime::make_kernel_spec;
using runtime::Value;

/// Ends the shim and starts the template's own text: "// ---- specialised from templates/<family>.cu".
inline constexpr std::string_view kSpecialisedMarker = "// ---- specialised from templates/";

/// The kernels of one variant as one self-contained file (no #include) that NVRTC, nvcc, Clang and a host
/// compiler read: the shim, then the template with its parameters set, its kernels renamed to
/// cerar_<prefix>_<role>, every `if` gone that the parameters decide, and the mark as the last line. The same
/// spec gives the same bytes. Throws `invalid_plan` for an unknown family, an unknown or an unset parameter,
/// a value of another type or size than the template declares, a number that is not finite, and for whatever
/// the template itself refuses (then with Clang's message).
std::string specialise(const KernelSpec& spec);

/// Roles of a family's kernels, in the order of the template. Throws `invalid_plan` for an unknown family.
std::vector<std::string> roles(std::string_view family);

}  // namespace cerar::generator
