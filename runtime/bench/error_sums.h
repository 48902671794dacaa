#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/bench/measure.h"

namespace cerar::runtime {

/// How one rank's result compares with the exact one; those of several ranks add up.
struct ErrorSums {
  double square = 0;            ///< of the differences
  std::uint64_t not_equal = 0;  ///< see Errors
  std::uint64_t wrong = 0;
};

/// `limit`: a difference beyond which an element is wrong.
ErrorSums compare(std::span<const float> result, std::span<const double> exact, double limit);

double sum_of_squares(std::span<const double> values);

/// The limit for elements, from the rms of the exact result and the claim of the variant that ran.
double wrong_limit(double exact_square, std::size_t count, double claimed_error, int ranks);

/// What a rank's output holds before a call: its input in place, or what must not look right.
std::vector<float> make_output(const MeasureOptions& options, const std::vector<float>& input);

}  // namespace cerar::runtime
