#pragma once

#include <cstdint>
#include <span>

#include "runtime/include/cerar.h"
#include "runtime/measure/inputs.h"
#include "runtime/measure/rank_threads.h"

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

struct Errors {
  double relative_rms = 0;      ///< over all ranks: rms(result - exact) / rms(exact), exact in double
  double worst_rank = 0;        ///< the largest of the ranks' own figures
  double between_ranks = 0;     ///< rms(result of a rank - mean of the ranks) / rms(exact)
  std::uint64_t not_equal = 0;  ///< elements that are not bit-equal to the exact sum rounded to the type
  std::uint64_t wrong = 0;  ///< elements off by more than 20 times the claimed rms error and the rounding to
                            ///< the type; two normals' product (message and rounding) does so once in 1e9
};

/// One checked all-reduce: fresh inputs, poisoned outputs, compared with sums in double.
Errors measure_errors(const LocalRanks& ranks, const MeasureOptions& options);

/// Mean microseconds per call, the slowest rank counting, over `iterations` calls after `warmups`.
double measure_time_us(const LocalRanks& ranks, const MeasureOptions& options, int warmups, int iterations);

}  // namespace cerar::runtime
