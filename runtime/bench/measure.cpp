#include "runtime/bench/measure.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <numbers>

#include "runtime/bench/error_sums.h"

namespace cerar::runtime {
namespace {

// SplitMix64: every element's randomness follows from its index alone.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// Box-Muller.
float normal(std::uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(uniform(mix(2 * key))));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(mix(2 * key + 1))));
}

struct Buffers {
  std::vector<std::vector<float>> inputs, outputs;  // [rank]
};

Buffers make_buffers(const LocalRanks& ranks, const MeasureOptions& options) {
  Buffers buffers;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    buffers.inputs.push_back(make_input(options.input, rank, options.count));
    buffers.outputs.push_back(make_output(options, buffers.inputs.back()));
  }
  return buffers;
}

void all_reduce(const LocalRanks& ranks, const MeasureOptions& options, Buffers& buffers, int rank) {
  auto& output = buffers.outputs[static_cast<std::size_t>(rank)];
  const float* input =
      options.in_place ? output.data() : buffers.inputs[static_cast<std::size_t>(rank)].data();
  require_success(cerarAllReduce(input, output.data(), options.count, cerarFloat32, options.op,
                                 ranks.comm(rank), nullptr));
}

std::vector<double> exact_result(const Buffers& buffers, const MeasureOptions& options) {
  std::vector<double> exact(options.count, 0.0);
  for (const auto& input : buffers.inputs)
    for (std::size_t i = 0; i < options.count; ++i) exact[i] += input[i];
  if (options.op == cerarAverage)
    for (double& x : exact) x /= static_cast<double>(buffers.inputs.size());
  return exact;
}

}  // namespace

std::vector<float> make_input(Input kind, int rank, std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  const std::uint64_t stream =
      mix(seed * 1000003 + (kind == Input::equal ? 0 : static_cast<std::uint64_t>(rank) + 1));
  for (std::size_t i = 0; i < count; ++i)
    values[i] = kind == Input::integers ? static_cast<float>(static_cast<int>(mix(stream + i) % 129) - 64)
                                        : normal(stream + i);
  return values;
}

Errors measure_errors(const LocalRanks& ranks, const MeasureOptions& options) {
  Buffers buffers = make_buffers(ranks, options);
  ranks.run([&](int rank) { all_reduce(ranks, options, buffers, rank); });
  const auto exact = exact_result(buffers, options);
  Errors errors;
  if (options.count == 0) return errors;
  cerarCallInfo_t info;
  require_success(cerarCommLastCall(ranks.comm(0), &info));
  const double exact_square = sum_of_squares(exact);
  const double limit = wrong_limit(exact_square, options.count, info.claimed_error, ranks.size());
  double all_square = 0, between_square = 0;
  for (const auto& output : buffers.outputs) {
    const ErrorSums sums = compare(output, exact, limit);
    all_square += sums.square;
    errors.wrong += sums.wrong;
    errors.not_equal += sums.not_equal;
    errors.worst_rank = std::max(errors.worst_rank, std::sqrt(sums.square / exact_square));
  }
  const auto rank_count = static_cast<double>(ranks.size());
  for (std::size_t i = 0; i < options.count; ++i) {
    double mean = 0;
    for (const auto& output : buffers.outputs) mean += output[i] / rank_count;
    for (const auto& output : buffers.outputs) between_square += (output[i] - mean) * (output[i] - mean);
  }
  errors.relative_rms = std::sqrt(all_square / rank_count / exact_square);
  errors.between_ranks = std::sqrt(between_square / rank_count / exact_square);
  return errors;
}

double measure_time_us(const LocalRanks& ranks, const MeasureOptions& options, int warmups, int iterations) {
  using Clock = std::chrono::steady_clock;
  Buffers buffers = make_buffers(ranks, options);
  std::barrier start(ranks.size());
  std::vector<double> times(static_cast<std::size_t>(ranks.size()));
  ranks.run([&](int rank) {
    // In place the numbers grow with each call; averages keep them where they are.
    MeasureOptions steady = options;
    if (options.in_place) steady.op = cerarAverage;
    for (int i = 0; i < warmups; ++i) all_reduce(ranks, steady, buffers, rank);
    start.arrive_and_wait();
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) all_reduce(ranks, steady, buffers, rank);
    times[static_cast<std::size_t>(rank)] =
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / std::max(iterations, 1);
  });
  return *std::max_element(times.begin(), times.end());
}

}  // namespace cerar::runtime
