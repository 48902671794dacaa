#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"
#include "runtime/plan/schedule.h"
#include "templates/visit_arguments.h"

namespace cerar::test {

/// Bytes that the launch of a step reads and writes in place: lines of the vector, samples and early symbols
/// as `vector_lines` counts them, and the messages of the arguments. Tables are not counted.
std::uint64_t kernel_bytes(const runtime::Variant& variant, const runtime::Step& step,
                           const cerar_visit_arguments& arguments);

}  // namespace cerar::test
