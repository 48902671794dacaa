#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// Elements first..first+count-1 of a vector as f32; exact.
void widen(DataType type, const void* vector, std::uint64_t first, std::uint64_t count, float* to);

/// Writes f32 values to elements first..first+count-1 of a vector, rounded to nearest, ties to even.
void narrow(DataType type, const float* from, std::uint64_t count, void* vector, std::uint64_t first);

/// Relative rms error of rounding numbers of no particular scale to the type once; 0 for f32, whose rounding
/// any sum has.
double rounding_rms(DataType type);

/// The same of results of a variant: 0 also where every rank keeps what a message of that type held.
double result_rounding(Messages messages, const Shape& shape, Wire wire, DataType type);

}  // namespace cerar::runtime
