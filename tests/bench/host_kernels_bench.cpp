// The kernels of one rank, without any transport, beside memcpy and the STREAM triad in the same run. All
// arrays are three times the last-level cache or more, message buffers too, so that every access goes to
// memory; bytes are useful bytes: what the kernels load and store, without write-allocate. Prints the ratio
// to the triad last.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/executor/host/host_kernels.h"
#include "runtime/executor/host/lane.h"
#include "runtime/plan/plan_file.h"
#include "tests/bench/huge_buffer.h"
#include "tests/support/plans.h"
#include "tuner/cost/traffic.h"

namespace cerar::test {
namespace {

using runtime::Construction;

constexpr std::size_t kElements = std::size_t{1} << 25;  // 128 MiB
// Messages of the size that keeps a link full (r = 8: 128 KiB).
constexpr int kLanes = 16;

struct Arrays {
  HugeBuffer a{kElements}, b{kElements}, c{kElements};
};

Arrays& arrays() {
  static Arrays arrays;
  return arrays;
}

void memcpy_bytes(benchmark::State& state) {
  auto& [a, b, c] = arrays();
  for (auto _ : state) {
    std::memcpy(a.data(), b.data(), kElements * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 2 * kElements * sizeof(float)));
}

void triad(benchmark::State& state) {
  auto& [a, b, c] = arrays();
  float* __restrict__ to = a.data();
  const float* __restrict__ x = b.data(), * __restrict__ y = c.data();
  for (auto _ : state) {
    for (std::size_t i = 0; i < kElements; ++i) to[i] = x[i] + 3.0f * y[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * kElements * sizeof(float)));
}

// All visits of rank 0 in order, lane by lane, with the executor's own lanes and message buffers. Only the
// neighbour is missing: what was sent at one visit is taken for what was received at the next.
void kernels(benchmark::State& state, Construction construction, int workers, int terms) {
  const auto directory = plan_directory(construction, workers, workers * terms, kLanes);
  const auto plan = runtime::load_plan(directory);
  const runtime::HostKernels host(plan, directory);
  const auto& variant = plan.variants[0];
  const auto& shape = variant.shape;
  const auto& table = host.of(variant);
  auto lanes = runtime::make_lanes(variant, kElements, kLanes, 1);
  float* const vector = arrays().a.data();
  const runtime::Call call{.send = vector, .receive = vector, .count = kElements};
  for (auto _ : state) {
    for (int visit = 1; visit <= shape.visits; ++visit) {
      const auto step = runtime::step_at(shape, variant.messages, 0, visit);
      for (auto& lane : lanes)
        table[static_cast<std::size_t>(step.role)](lane.arguments(call, step, visit, 8.0f));
    }
    benchmark::ClobberMemory();
  }
  const double message = static_cast<double>(kElements) / shape.components;
  const double bytes =
      static_cast<double>(tuner::lines_touched(shape, variant.messages, 0)) * message * sizeof(float);
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations()) * bytes));
}

class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs)
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
        medians_[run.run_name.function_name] = run.counters.at("bytes_per_second");
    ConsoleReporter::ReportRuns(runs);
  }
  void print_ratios() const {
    const auto triad = medians_.find("triad");
    if (triad == medians_.end()) return;
    fmt::print("\n{:<24} {:>12} {:>18}\n", "medians", "GB/s useful", "ratio to the triad");
    for (const auto& [name, rate] : medians_)
      fmt::print("{:<24} {:>12.2f} {:>18.3f}\n", name, rate / 1e9, rate / triad->second);
  }

 private:
  std::map<std::string, double> medians_;
};

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  benchmark::RegisterBenchmark("memcpy", memcpy_bytes);
  benchmark::RegisterBenchmark("triad", triad);
  benchmark::RegisterBenchmark("sum r=1", kernels, Construction::ring, 8, 1);
  for (int terms : {2, 4, 8})
    benchmark::RegisterBenchmark(fmt::format("plain r={}", terms).c_str(), kernels, Construction::harmonic, 8,
                                 terms);
  for (int terms : {8, 32})
    benchmark::RegisterBenchmark(fmt::format("differential r={}", terms).c_str(), kernels,
                                 Construction::differential, 8, terms);
  // Interleaved repetitions: a neighbour's noise hits all of them alike.
  std::vector<char*> arguments(argv, argv + argc);
  std::string defaults[] = {"--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
                            "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.3"};
  for (auto& text : defaults) arguments.insert(arguments.begin() + 1, text.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
}
