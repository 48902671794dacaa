#include "runtime/bench/error_sums.h"

#include <bit>
#include <cmath>
#include <limits>

namespace cerar::runtime {

ErrorSums compare(std::span<const float> result, std::span<const double> exact, double limit) {
  ErrorSums sums;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double difference = result[i] - exact[i];
    sums.square += difference * difference;
    if (!(std::abs(difference) <= limit)) ++sums.wrong;
    if (std::bit_cast<std::uint32_t>(result[i]) != std::bit_cast<std::uint32_t>(static_cast<float>(exact[i])))
      ++sums.not_equal;
  }
  return sums;
}

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

double wrong_limit(double exact_square, std::size_t count, double claimed_error, int ranks) {
  const double scale = std::sqrt(exact_square / static_cast<double>(count));
  // Exact codes still round each of their N - 1 additions.
  return scale * (claimed_error > 0 ? 20 * claimed_error : 0x1p-22 * ranks);
}

std::vector<float> make_output(const MeasureOptions& options, const std::vector<float>& input) {
  return options.in_place ? input
                          : std::vector<float>(options.count, std::numeric_limits<float>::quiet_NaN());
}

}  // namespace cerar::runtime
