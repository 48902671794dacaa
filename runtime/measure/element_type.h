#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/include/cerar.h"

namespace cerar::runtime {

std::size_t element_bytes(cerarDataType_t type);
std::string_view name_of(cerarDataType_t type);  ///< "f32"

/// Throws `unsupported` naming the option and the text.
cerarDataType_t element_type(const std::string& option, const std::string& name);

/// The greatest relative error of rounding to the type once; 0 for f32, which claims cover.
double half_ulp(cerarDataType_t type);

/// Relative rms error of rounding normal numbers to the type once; 0 for f32. Their ulps differ from binade
/// to binade: sqrt(sum of 4^e P(2^e <= |x| < 2^(e+1)) / 3) half ulps at variance 1, and 0.424 to 0.426 at
/// any.
double rounding_rms(cerarDataType_t type);

/// A vector as it lies in memory, rounded to its type, and back.
std::vector<std::byte> packed(cerarDataType_t type, std::span<const float> values);
std::vector<float> unpacked(cerarDataType_t type, std::span<const std::byte> bytes);

/// Both.
std::vector<float> rounded(cerarDataType_t type, std::vector<float> values);

}  // namespace cerar::runtime
