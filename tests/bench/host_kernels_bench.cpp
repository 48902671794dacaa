// The kernels of one rank, without any transport, beside memcpy and the STREAM triad in the same run. All
// arrays are three times the last-level cache or more, message buffers too, so that every access goes to
// memory; bytes are useful bytes: what the kernels load and store, without write-allocate. Prints the ratio
// to the triad last.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/host/kernels.h"
#include "runtime/host/lane.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/wire.h"
#include "tests/bench/huge_buffer.h"
#include "tests/support/plans.h"
#include "tuner/cost/cost_model.h"

namespace cerar::test {
namespace {

using runtime::Construction;

constexpr std::size_t kElements = std::size_t{1} << 25;  // 128 MiB
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

// Where vectors are: results over the input, or beside it, decoded in place all the same or apart from it.
enum class Place { in, out, apart };

// A whole all-reduce without a transport: the ranks take turns in one thread, piece by piece as the executor
// does, and read a message where the neighbour wrote it. The ranks' vectors together fill the array; averages
// keep them as they are from one iteration to the next.
void kernels(benchmark::State& state, Construction construction, int workers, int components,
             runtime::Wire wire = runtime::Wire::f32, Place place = Place::in) {
  const auto directory = plan_directory(construction, workers, components, 2, wire);
  const auto loaded = runtime::load_plan_directory(directory);
  const runtime::HostKernels host(loaded);
  runtime::Variant variant = loaded.plan->variants[0];
  // The caches of this machine hold the pieces of one rank in use, not of all ranks at once.
  variant.message_bytes /= static_cast<std::uint64_t>(workers);
  const auto& shape = variant.shape;
  const auto& table = host.of(variant);
  const std::size_t count = kElements / static_cast<std::size_t>(workers);
  const auto pieces = runtime::cut(variant, count);
  runtime::PaddedRow padded(variant, pieces.back());
  std::vector<runtime::Lane> lanes(
      static_cast<std::size_t>(workers),
      {variant, runtime::DataType::f32, pieces.front().rows, pieces.back().tail != 0});
  for (auto _ : state)
    for (const auto& piece : pieces) {
      for (int rank = 0; rank < workers; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        float* const vector = arrays().a.data() + at * count;
        const float* const input = place == Place::in ? vector : arrays().b.data() + at * count;
        lanes[at].begin({.send = input, .receive = vector, .count = count}, piece);
      }
      for (int visit = 1; visit <= shape.visits; ++visit)
        for (int rank = 0; rank < workers; ++rank) {
          const auto step = runtime::step_at(shape, variant.messages, rank, visit);
          const auto at = static_cast<std::size_t>(rank), before = at == 0 ? lanes.size() - 1 : at - 1;
          auto arguments = lanes[at].arguments(piece, padded, step, visit, static_cast<float>(workers));
          if (step.receives) arguments.received = lanes[before].message(piece, visit - 1).data();
          if (place == Place::out && step.role == runtime::Role::decode) arguments.input = arguments.slots;
          table[static_cast<std::size_t>(step.role)](arguments);
        }
    }
  const auto traffic = tuner::traffic_of(shape, variant.messages);
  const double own = place == Place::apart ? sizeof(float) : 0;
  const double bytes = kElements * (traffic.vector * sizeof(float) + own +
                                    traffic.message * runtime::bytes_per_element(wire, variant.block));
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations()) * bytes));
}

class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs)
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
        medians_[run.run_name.function_name] = {run.counters.at("bytes_per_second"),
                                                run.GetAdjustedRealTime()};
    ConsoleReporter::ReportRuns(runs);
  }
  void print_ratios() const {
    const auto triad = medians_.find("triad");
    if (triad == medians_.end()) return;
    fmt::print("\n{:<24} {:>12} {:>18} {:>24}\n", "medians", "GB/s useful", "ratio to the triad",
               "elements/s (see below)");
    for (const auto& [name, median] : medians_) {
      // "differential r=8 fx16" beside "differential r=8", "plain r=3 out apart" beside "plain r=3 out"
      const auto base = medians_.find(name.substr(0, name.find_last_of(' ')));
      fmt::print("{:<24} {:>12.2f} {:>18.3f} {:>24}\n", name, median.rate / 1e9,
                 median.rate / triad->second.rate,
                 base == medians_.end() ? "" : fmt::format("{:.3f}", base->second.time / median.time));
    }
    fmt::print(
        "elements/s: of messages against those of f32, out of place against in place, apart against out\n");
  }

 private:
  struct Median {
    double rate, time;
  };
  std::map<std::string, Median> medians_;
};

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  using cerar::runtime::Wire;
  const auto add = [](const std::string& name, Construction construction, int components,
                      Wire wire = Wire::f32, Place place = Place::in) {
    benchmark::RegisterBenchmark(name.c_str(), kernels, construction, 8, components, wire, place);
  };
  benchmark::RegisterBenchmark("memcpy", memcpy_bytes);
  benchmark::RegisterBenchmark("triad", triad);
  add("sum r=1", Construction::ring, 8);
  for (int terms : {2, 4, 8, 16}) add(fmt::format("plain r={}", terms), Construction::harmonic, 8 * terms);
  for (int terms : {2, 4}) {
    const auto name = fmt::format("plain r={} out", terms);
    add(name, Construction::harmonic, 8 * terms, Wire::f32, Place::out);
    add(name + " apart", Construction::harmonic, 8 * terms, Wire::f32, Place::apart);
  }
  for (int components : {12, 20, 15, 63})
    add(fmt::format("plain c={}", components), Construction::harmonic, components);
  add("unimodular c=7", Construction::unimodular, 7);
  for (int terms : {8, 16, 32, 64})
    add(fmt::format("differential r={}", terms), Construction::differential, 8 * terms);
  // The same codes in other messages: elements a second against those of f32.
  for (const auto wire : {Wire::bf16, Wire::fx16, Wire::fx12, Wire::fx8}) {
    const auto name = cerar::runtime::name_of(wire);
    add(fmt::format("sum r=1 {}", name), Construction::ring, 8, wire);
    add(fmt::format("differential r=8 {}", name), Construction::differential, 64, wire);
  }
  for (int terms : {16, 32, 64})
    add(fmt::format("differential r={} fx16", terms), Construction::differential, 8 * terms, Wire::fx16);
  // Interleaved repetitions: a neighbour's noise hits all of them alike.
  std::vector<char*> arguments(argv, argv + argc);
  std::string defaults[] = {"--benchmark_repetitions=15", "--benchmark_enable_random_interleaving=true",
                            "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.1"};
  for (auto& text : defaults) arguments.insert(arguments.begin() + 1, text.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
  return std::fflush(stdout) == 0 ? 0 : 1;
}
