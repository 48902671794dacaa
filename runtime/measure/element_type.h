#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/cerar.h"

namespace cerar::runtime {

std::size_t element_bytes(cerarDataType_t type);
std::string_view name_of(cerarDataType_t type);  ///< "f32"

/// Throws `unsupported` naming the option and the text.
cerarDataType_t element_type(const std::string& option, const std::string& name);

/// The greatest relative error of rounding to the type once; 0 for f32, which claims cover.
double half_ulp(cerarDataType_t type);

/// Relative rms error of rounding independent normal numbers to the type once; 0 for f32. A uniform error of
/// up to half an ulp, against numbers spread over a binade: half_ulp / sqrt(7).
double rounding_rms(cerarDataType_t type);

/// A vector as it lies in memory, rounded to its type, and back.
std::vector<std::byte> packed(cerarDataType_t type, std::span<const float> values);
std::vector<float> unpacked(cerarDataType_t type, std::span<const std::byte> bytes);

/// Both.
std::vector<float> rounded(cerarDataType_t type, std::vector<float> values);

}  // namespace cerar::runtime
