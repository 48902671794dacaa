#include "runtime/measure/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <memory>
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

Errors measure_errors(const LocalRanks& ranks, const MeasureOptions& options) {
  ExactResult sum(options);
  std::vector<std::unique_ptr<CallVectors>> vectors;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto input = make_input(options, rank);
    sum.add(input);
    vectors.push_back(make_host_vectors());
    vectors.back()->load(input, options);
  }
  ranks.run(
      [&](int rank) { vectors[static_cast<std::size_t>(rank)]->all_reduce(ranks.comm(rank), options.op); });
  Errors errors;
  if (options.count == 0) return errors;
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  require_success(cerarCommLastCall(ranks.comm(0), &info));
  const auto exact = std::move(sum).finish();
  const double exact_square = sum_of_squares(exact);
  const double limit =
      wrong_limit(exact_square, options.count, info.claimed_error, ranks.size(), options.type);
  double all_square = 0, between_square = 0;
  std::vector<std::vector<float>> results;
  for (const auto& of_rank : vectors) {
    results.push_back(of_rank->result());
    const ErrorSums sums = compare(results.back(), exact, limit, options.type);
    all_square += sums.square;
    errors.wrong += sums.wrong;
    errors.not_equal += sums.not_equal;
    errors.worst_rank = std::max(errors.worst_rank, std::sqrt(sums.square / exact_square));
  }
  const auto rank_count = static_cast<double>(ranks.size());
  for (std::size_t i = 0; i < options.count; ++i) {
    double mean = 0;
    for (const auto& result : results) mean += result[i] / rank_count;
    for (const auto& result : results) between_square += (result[i] - mean) * (result[i] - mean);
  }
  errors.relative_rms = std::sqrt(all_square / rank_count / exact_square);
  errors.between_ranks = std::sqrt(between_square / rank_count / exact_square);
  return errors;
}

double measure_time_us(const LocalRanks& ranks, const MeasureOptions& options, int warmups, int iterations) {
  std::vector<std::unique_ptr<CallVectors>>
      vectors;  // here, for a thread that finds no memory stops the others
  for (int rank = 0; rank < ranks.size(); ++rank) {
    vectors.push_back(make_host_vectors());
    vectors.back()->load(make_input(options, rank), options);
  }
  RankMeeting start(ranks.size());
  std::vector<double> times(static_cast<std::size_t>(ranks.size()));
  ranks.run([&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    try {
      times[at] =
          time_calls_us(*vectors[at], ranks.comm(rank), options, warmups, iterations, [&] { start.meet(); });
    } catch (...) {
      start.fail(std::current_exception());
      throw;
    }
  });
  return *std::max_element(times.begin(), times.end());
}

}  // namespace cerar::runtime
