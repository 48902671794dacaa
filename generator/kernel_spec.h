#pragma once

#include "runtime/plan/kernel_spec.h"

/// What the generator works from; the runtime knows it too, for it compares kernels with the plan's text.
namespace cerar::generator {

using runtime::FloatTable;
using runtime::KernelSpec;
using runtime::kMostPlainTerms;
using runtime::make_kernel_spec;
using runtime::Value;

}  // namespace cerar::generator
