#include "runtime/measure/error_sums.h"

#include <bit>
#include <cmath>
#include <vector>

#include "runtime/measure/element_type.h"

namespace cerar::runtime {

ErrorSums compare(std::span<const float> result, std::span<const double> exact, double limit,
                  cerarDataType_t type) {
  std::vector<float> nearest(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) nearest[i] = static_cast<float>(exact[i]);
  nearest = rounded(type, std::move(nearest));
  ErrorSums sums;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double difference = result[i] - exact[i];
    sums.square += difference * difference;
    if (!(std::abs(difference) <= limit)) ++sums.wrong;
    if (std::bit_cast<std::uint32_t>(result[i]) != std::bit_cast<std::uint32_t>(nearest[i])) ++sums.not_equal;
  }
  return sums;
}

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

double wrong_limit(double exact_square, std::size_t count, double claimed_error, int ranks,
                   cerarDataType_t type) {
  const double scale = std::sqrt(exact_square / static_cast<double>(count));
  // What claims nothing may be NCCL's own, which rounds to the type at each hop.
  const double expected = claimed_error > 0 ? claimed_error : half_ulp(type) * std::sqrt(ranks);
  // Exact codes still round each of their N - 1 additions.
  return scale * (expected > 0 ? 20 * expected : 0x1p-22 * ranks);
}

}  // namespace cerar::runtime
