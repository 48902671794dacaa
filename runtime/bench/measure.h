#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/bench/rank_threads.h"

namespace cerar::runtime {

/// What the ranks put in.
enum class Input {
  normal,    ///< independent standard normal numbers on every rank
  equal,     ///< one normal vector, the same on every rank
  integers,  ///< independent whole numbers in -64..64, so that every partial sum is exact in f32
};

/// A rank's input, the same for the same arguments on every machine.
std::vector<float> make_input(Input kind, int rank, std::size_t count, std::uint64_t seed = 1);

struct Errors {
  double relative_rms = 0;      ///< over all ranks: rms(result - exact) / rms(exact), exact in double
  double worst_rank = 0;        ///< the largest of the ranks' own figures
  double between_ranks = 0;     ///< rms(result of a rank - mean of the ranks) / rms(exact)
  std::uint64_t not_equal = 0;  ///< elements that are not bit-equal to the exact sum rounded to f32
  std::uint64_t wrong = 0;      ///< elements off by more than 20 times the claimed rms error; the product of
                                ///< two normals (message and rounding) reaches that once in 1e9
};

struct MeasureOptions {
  std::size_t count = 0;
  Input input = Input::normal;
  cerarRedOp_t op = cerarSum;
  bool in_place = false;
};

/// One checked all-reduce: fresh inputs, poisoned outputs, compared with sums in double.
Errors measure_errors(const LocalRanks& ranks, const MeasureOptions& options);

/// Mean microseconds per call, the slowest rank counting, over `iterations` calls after `warmups`.
double measure_time_us(const LocalRanks& ranks, const MeasureOptions& options, int warmups, int iterations);

}  // namespace cerar::runtime
