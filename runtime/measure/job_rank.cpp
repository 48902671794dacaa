#include "runtime/measure/job_rank.h"

#include <algorithm>
#include <cmath>

#include "runtime/measure/measure.h"

namespace cerar::runtime {
namespace {

// Inputs follow from the rank's number, so every rank knows the sum.
std::vector<double> exact_result(const MeasureOptions& options, int ranks) {
  ExactResult sum(options);
  for (int rank = 0; rank < ranks; ++rank) sum.add(make_input(options, rank));
  return std::move(sum).finish();
}

}  // namespace

JobRank::JobRank(int rank, int ranks, JobComms comms, const MakeVectors& make_vectors,
                 const MakeVectors& make_mixed)
    : rank_(rank), ranks_(ranks), comms_(std::move(comms)), vectors_(make_vectors()), mixed_(make_mixed()) {}

std::vector<float> JobRank::combine(const std::vector<float>& mine, cerarRedOp_t op) const {
  mixed_->load(mine, {.count = mine.size(), .op = op, .in_place = true});
  mixed_->all_reduce(comms_.mixing, op);
  mixed_->wait(comms_.mixing);
  return mixed_->result();
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
  parts = combine(parts, cerarSum);
  std::vector<std::vector<double>> all(static_cast<std::size_t>(ranks_));
  const float* part = parts.data();
  for (auto& row : all)
    for (std::size_t i = 0; i < columns; ++i, part += 3)
      row.push_back(static_cast<double>(part[0]) + part[1] + part[2]);
  return all;
}

void JobRank::meet() const { gather({0}); }

JobComms make_job_comms(const std::string& plan_directory,
                        const std::function<cerarResult_t(cerarComm_t* comm, cerarPlan_t plan)>& make_comm) {
  cerarPlan_t plan = nullptr;
  if (!plan_directory.empty()) require_success(cerarPlanLoad(&plan, plan_directory.c_str()));
  cerarComm_t comm = nullptr;
  const cerarResult_t result = make_comm(&comm, plan);
  cerarPlanFree(plan);
  require_success(result);
  JobComms comms;
  comms.measured.reset(comm);
  require_success(make_comm(&comm, nullptr));
  comms.ring.reset(comm);
  comms.mixing = comm;
  return comms;
}

Errors measure_errors(const JobRank& rank, const MeasureOptions& options) {
  CallVectors& vectors = rank.vectors();
  vectors.load(make_input(options, rank.rank()), options);
  rank.meet();
  require_success(cerarCommPrepare(rank.comms().measured.get(), options.count, options.type, options.op));
  rank.meet();
  vectors.all_reduce(rank.comms().measured.get(), options.op);
  vectors.wait(rank.comms().measured.get());
  Errors errors;
  if (options.count == 0) return errors;
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  require_success(cerarCommLastCall(rank.comms().measured.get(), &info));
  const auto exact = exact_result(options, rank.size());
  const double exact_square = sum_of_squares(exact);
  const double limit =
      wrong_limit(exact_square, options.count, info.claimed_error, rank.size(), options.type);
  const auto output = vectors.result();
  const ErrorSums mine = compare(output, exact, limit, options.type);
  const auto mean = rank.combine(output, cerarAverage);
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
  rank.vectors().load(make_input(options, rank.rank()), options);
  const double mine = time_calls_us(rank.vectors(), comm, options, warmups, iterations, [&] { rank.meet(); });
  double slowest = 0;
  for (const auto& row : rank.gather({mine})) slowest = std::max(slowest, row[0]);
  return slowest;
}

}  // namespace cerar::runtime
