#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"
#include "runtime/schedule/step.h"
#include "templates/visit_arguments.h"

namespace cerar::test {

/// Bytes that one launch reads and writes, counted from its arguments: lines of the vector, samples, early
/// symbols and messages, each as often as the kernel's source loads or stores it. Tables are not counted.
std::uint64_t kernel_bytes(const runtime::Variant& variant, runtime::Role role,
                           const cerar_visit_arguments& arguments);

}  // namespace cerar::test
