#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// Elements first..first+count-1 of a vector as f32; exact.
void widen(DataType type, const void* vector, std::uint64_t first, std::uint64_t count, float* to);

/// Writes f32 values to elements first..first+count-1 of a vector, rounded to nearest, ties to even.
void narrow(DataType type, const float* from, std::uint64_t count, void* vector, std::uint64_t first);

}  // namespace cerar::runtime
