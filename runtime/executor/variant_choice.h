#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// The variant whose byte range holds `bytes`; a checked plan always has exactly one.
const Variant& variant_for(const Plan& plan, std::uint64_t bytes);

}  // namespace cerar::runtime
