#include "tests/multiprocess_mpi/ranks.h"

#include <cmath>
#include <limits>

#include "runtime/measure/time_limit.h"

namespace cerar::test {

using runtime::Input;

void fail(const std::string& text) { throw std::runtime_error(text); }

void check_sentence(const std::vector<std::string>& words) {
  const std::string sentence = cerarGetLastError();
  for (const auto& word : words)
    check(sentence.find(word) != std::string::npos, "'{}' is not in: {}", word, sentence);
}

int rank_in(MPI_Comm mpi) {
  int rank = 0;
  MPI_Comm_rank(mpi, &rank);
  return rank;
}

int size_of(MPI_Comm mpi) {
  int size = 0;
  MPI_Comm_size(mpi, &size);
  return size;
}

LoadedPlan::LoadedPlan(const std::string& directory, std::string_view name, int ranks) {
  runtime::require_success(cerarPlanLoad(&plan_, fmt::format("{}/{}-n{}", directory, name, ranks).c_str()));
}

Comm::Comm(MPI_Comm mpi, cerarPlan_t plan, int timeout_ms) {
  runtime::require_success(cerarCommInitMpi(&comm_, mpi, plan, TimeLimit(timeout_ms)));
}

void check_sum(cerarComm_t comm, int rank, int ranks, std::size_t count, bool in_place, std::uint64_t seed) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  for (const Input kind : {Input::normal, Input::integers}) {
    const auto input = runtime::make_input(kind, rank, count, seed);
    std::vector<float> output(count, std::numeric_limits<float>::quiet_NaN());
    if (in_place) output = input;
    runtime::require_success(cerarAllReduce(in_place ? output.data() : input.data(), output.data(), count,
                                            cerarFloat32, cerarSum, comm, nullptr));
    runtime::require_success(cerarCommLastCall(comm, &info));
    std::vector<double> exact(count, 0.0);
    for (int other = 0; other < ranks; ++other) {
      const auto vector = runtime::make_input(kind, other, count, seed);
      for (std::size_t i = 0; i < count; ++i) exact[i] += vector[i];
    }
    double square = 0, scale = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = output[i] - exact[i];
      square += difference * difference;
      scale += exact[i] * exact[i];
      if (kind == Input::integers && info.components <= ranks)
        check(difference == 0, "element {} of {} is {}, not {}", i, count, output[i], exact[i]);
    }
    const double error = count > 0 ? std::sqrt(square / scale) : 0;
    const double claim = info.components > ranks ? info.claimed_error : 1e-6;
    const auto what = fmt::format("rank {} of {}, count {}, c = {}: error {:.3e}, claim {:.3e}", rank, ranks,
                                  count, info.components, error, claim);
    // A short vector's error scatters around the claim.
    check(error <= (count > 10000 ? 1.0 : 4.0) * claim, "{}: above it", what);
    if (kind == Input::normal && info.components > ranks && count > 10000)
      check(error >= 0.4 * claim, "{}: less than half of it, the claim is vacuous", what);
  }
}

}  // namespace cerar::test
