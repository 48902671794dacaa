#pragma once

#include <cstdint>
#include <span>

#include "runtime/include/cerar.h"

namespace cerar::runtime {

/// How one rank's result compares with the exact one; those of several ranks add up.
struct ErrorSums {
  double square = 0;            ///< of the differences
  std::uint64_t not_equal = 0;  ///< see Errors
  std::uint64_t wrong = 0;
};

/// `limit`: a difference beyond which an element is wrong. `type` is that of the vectors.
ErrorSums compare(std::span<const float> result, std::span<const double> exact, double limit,
                  cerarDataType_t type = cerarFloat32);

double sum_of_squares(std::span<const double> values);

/// The limit for elements, from the rms of the exact result and the claim of the variant that ran. NCCL's own
/// all-reduce claims nothing, and rounds to the type at each hop.
double wrong_limit(double exact_square, std::size_t count, double claimed_error, int ranks,
                   cerarDataType_t type = cerarFloat32);

}  // namespace cerar::runtime
