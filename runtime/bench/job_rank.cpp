#include "runtime/bench/job_rank.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "runtime/bench/error_sums.h"

namespace cerar::runtime {
namespace {

void all_reduce(cerarComm_t comm, const float* input, std::vector<float>& output, cerarRedOp_t op) {
  require_success(cerarAllReduce(input, output.data(), output.size(), cerarFloat32, op, comm, nullptr));
}

// Inputs follow from the rank's number, so every rank knows the sum.
std::vector<double> exact_result(const MeasureOptions& options, int ranks) {
  std::vector<double> exact(options.count, 0.0);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto input = make_input(options.input, rank, options.count);
    for (std::size_t i = 0; i < options.count; ++i) exact[i] += input[i];
  }
  if (options.op == cerarAverage)
    for (double& x : exact) x /= ranks;
  return exact;
}

}  // namespace

JobRank::JobRank(int rank, int ranks, const std::string& plan_directory, const MakeComm& make_comm)
    : rank_(rank), ranks_(ranks) {
  cerarPlan_t plan = nullptr;
  if (!plan_directory.empty()) require_success(cerarPlanLoad(&plan, plan_directory.c_str()));
  cerarResult_t result = make_comm(&comm_, plan);
  cerarPlanFree(plan);
  require_success(result);
  result = make_comm(&ring_, nullptr);
  if (result != cerarSuccess) cerarCommDestroy(comm_);
  require_success(result);
}

JobRank::~JobRank() {
  cerarCommDestroy(comm_);
  cerarCommDestroy(ring_);
}

std::vector<std::vector<double>> JobRank::gather(const std::vector<double>& mine) const {
  // Three floats hold a double; sums with the zeros of all other ranks are exact.
  const std::size_t columns = mine.size();
  std::vector<float> parts(static_cast<std::size_t>(ranks_) * columns * 3, 0.0f);
  const std::size_t first = static_cast<std::size_t>(rank_) * columns * 3;
  for (std::size_t i = 0; i < columns; ++i) {
    double rest = mine[i];
    for (std::size_t part = 0; part < 3; ++part) {
      const auto rounded = static_cast<float>(rest);
      parts[first + 3 * i + part] = rounded;
      rest -= rounded;
    }
  }
  all_reduce(ring_, parts.data(), parts, cerarSum);
  std::vector<std::vector<double>> all(static_cast<std::size_t>(ranks_));
  const float* part = parts.data();
  for (auto& row : all)
    for (std::size_t i = 0; i < columns; ++i, part += 3)
      row.push_back(static_cast<double>(part[0]) + part[1] + part[2]);
  return all;
}

Errors measure_errors(const JobRank& rank, const MeasureOptions& options) {
  const auto input = make_input(options.input, rank.rank(), options.count);
  std::vector<float> output = make_output(options, input);
  all_reduce(rank.comm(), options.in_place ? output.data() : input.data(), output, options.op);
  Errors errors;
  if (options.count == 0) return errors;
  cerarCallInfo_t info;
  require_success(cerarCommLastCall(rank.comm(), &info));
  const auto exact = exact_result(options, rank.size());
  const double exact_square = sum_of_squares(exact);
  const double limit = wrong_limit(exact_square, options.count, info.claimed_error, rank.size());
  const ErrorSums mine = compare(output, exact, limit);
  std::vector<float> mean = output;
  all_reduce(rank.ring(), mean.data(), mean, cerarAverage);
  double from_mean = 0;
  for (std::size_t i = 0; i < options.count; ++i)
    from_mean += (static_cast<double>(output[i]) - mean[i]) * (static_cast<double>(output[i]) - mean[i]);
  double square = 0, between = 0;
  for (const auto& row : rank.gather(
           {mine.square, from_mean, static_cast<double>(mine.not_equal), static_cast<double>(mine.wrong)})) {
    square += row[0];
    between += row[1];
    errors.worst_rank = std::max(errors.worst_rank, std::sqrt(row[0] / exact_square));
    errors.not_equal += static_cast<std::uint64_t>(row[2]);
    errors.wrong += static_cast<std::uint64_t>(row[3]);
  }
  errors.relative_rms = std::sqrt(square / rank.size() / exact_square);
  errors.between_ranks = std::sqrt(between / rank.size() / exact_square);
  return errors;
}

double measure_time_us(const JobRank& rank, cerarComm_t comm, const MeasureOptions& options, int warmups,
                       int iterations) {
  using Clock = std::chrono::steady_clock;
  const auto input = make_input(options.input, rank.rank(), options.count);
  std::vector<float> output = make_output(options, input);
  // In place the numbers grow with each call; averages keep them where they are.
  const cerarRedOp_t op = options.in_place ? cerarAverage : options.op;
  const float* from = options.in_place ? output.data() : input.data();
  for (int i = 0; i < warmups; ++i) all_reduce(comm, from, output, op);
  rank.gather({0});  // so that all start together
  const auto begin = Clock::now();
  for (int i = 0; i < iterations; ++i) all_reduce(comm, from, output, op);
  const double mine =
      std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / std::max(iterations, 1);
  double slowest = 0;
  for (const auto& row : rank.gather({mine})) slowest = std::max(slowest, row[0]);
  return slowest;
}

}  // namespace cerar::runtime
