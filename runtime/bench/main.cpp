#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/bench/comparison.h"
#include "runtime/bench/report.h"
#include "runtime/measure/element_type.h"
#include "runtime/program/available_memory.h"
#include "runtime/program/output.h"
#include "runtime/program/program.h"
#include "runtime/program/text.h"

// cerar-bench: the columns and flags of nccl-tests, plus error, bytes on the wire and the exact ring beside
// it.
//
// algbw = size / time. busbw = algbw * 2(N-1)/N, the rate at which a ring would have to move bytes over each
// link; a coded all-reduce moves fewer, so its busbw may exceed the link's rate. wirebw = bytes really sent /
// time.
namespace {

using namespace cerar::runtime;

Input input_of(const std::string& name) {
  if (name == "normal") return Input::normal;
  if (name == "equal") return Input::equal;
  if (name == "integers") return Input::integers;
  throw cerar::Error(cerar::ErrorCode::unsupported,
                     fmt::format("--input is '{}'; known are normal, equal, integers.", name));
}

cerarRedOp_t op_of(const std::string& name) {
  if (name == "sum") return cerarSum;
  if (name == "average") return cerarAverage;
  throw cerar::Error(cerar::ErrorCode::unsupported,
                     fmt::format("--op is '{}'; known are sum, average.", name));
}

Half measure_half(const Comparison& comparison, const MeasureOptions& options, const Arguments& arguments) {
  Half half;
  half.errors = comparison.errors(options);
  half.time_us = comparison.time_us(options, arguments.warmups, arguments.iterations);
  require_success(cerarCommLastCall(comparison.comm, &half.info));
  return half;
}

// Bytes of memory for each rank and for each process, about: the vectors, the rank's input and result as
// numbers, and the exact sum in double.
void require_memory(const Comparison& comparison, const MeasureOptions& options, std::uint64_t size) {
  const std::uint64_t elements = size / element_bytes(options.type);
  const auto count = static_cast<double>(elements);
  const double of_rank = count * static_cast<double>(2 * element_bytes(options.type) + sizeof(float));
  const double of_process = count * sizeof(double);
  for (const auto& bound : cerar::program::memory_bounds()) {
    const int ranks = bound.per_process ? comparison.ranks_here : comparison.ranks_beside;
    const int processes = std::max(1, ranks / comparison.ranks_here);
    const double needed = ranks * of_rank + processes * of_process;
    if (needed > static_cast<double>(bound.bytes))
      throw cerar::Error(
          cerar::ErrorCode::system,
          fmt::format("vectors of {} bytes need {:.2f} GiB for {} ranks here, but {} leaves {:.2f} GiB; "
                      "choose a smaller -e.",
                      size, needed / 0x1p30, ranks, bound.name, static_cast<double>(bound.bytes) / 0x1p30));
  }
}

void measure_sizes(const Comparison& comparison, const Arguments& arguments, MeasureOptions options,
                   const std::vector<std::uint64_t>& sizes) {
  nlohmann::json rows = nlohmann::json::array();
  require_memory(comparison, options, sizes.back());
  if (comparison.prints && !arguments.json) print_heading(comparison);
  comparison.reserve(static_cast<std::size_t>(sizes.back()));
  bool good = true;
  for (const std::uint64_t size : sizes) {
    options.count = static_cast<std::size_t>(size) / element_bytes(options.type);
    options.in_place = false;
    const Half out_of_place = measure_half(comparison, options, arguments);
    options.in_place = true;
    const Half in_place = measure_half(comparison, options, arguments);
    std::optional<double> ring_us;
    if (comparison.baseline_time_us)
      ring_us = comparison.baseline_time_us(options, arguments.warmups, arguments.iterations);
    good = good && out_of_place.errors.wrong == 0 && in_place.errors.wrong == 0;
    rows.push_back(row_json(options, out_of_place, in_place, ring_us, comparison.ranks));
    if (comparison.prints && !arguments.json) print_row(rows.back());
  }
  if (comparison.prints && arguments.json)
    cerar::program::print(
        "{}\n",
        nlohmann::json{{"ranks", comparison.ranks}, {"transport", arguments.transport}, {"rows", rows}}.dump(
            2));
  if (!good) throw cerar::Error(cerar::ErrorCode::internal, "some results are wrong: see the column #wrong.");
}

int run(const Arguments& arguments) {
  const MeasureOptions options{.input = input_of(arguments.input),
                               .op = op_of(arguments.op),
                               .type = element_type("--dtype", arguments.type)};
  const auto sizes = cerar::program::sizes_between(arguments.begin, arguments.end, arguments.factor);
  try {
    run_comparison(arguments, [&](const Comparison& comparison) {
      measure_sizes(comparison, arguments, options, sizes);
    });
  } catch (const std::bad_alloc&) {
    throw cerar::Error(
        cerar::ErrorCode::system,
        fmt::format("memory is exhausted by sizes up to {}; choose a smaller -e.", arguments.end));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures a plan's all-reduce: time, error, bytes sent, and the exact ring beside it.",
               program_name()};
  Arguments arguments;
  app.add_option("--plan", arguments.plan, "plan directory made by cerar-tune")->required();
  app.add_option("--transport", arguments.transport, transport_help())->capture_default_str();
  app.add_option("--rank", arguments.rank, "this process's rank, from 0 (gloo, nccl)");
  app.add_option("--size", arguments.size, "number of ranks (gloo, nccl)");
  app.add_option("--store", arguments.store,
                 "where ranks meet: file:DIRECTORY or tcp:HOST:PORT (gloo, nccl)");
  app.add_option("--interface", arguments.interface_name, "network interface or address to use (gloo)");
  app.add_option(
         "--devices", arguments.devices,
         "GPU of each rank of this process (nccl, gpus); by default 0,1,..., in a process per rank its rank "
         "modulo the number of GPUs")
      ->delimiter(',')
      ->check(CLI::Range(0, 1000));
  app.add_option("-b,--minbytes", arguments.begin, "smallest size, with K, M or G")->capture_default_str();
  app.add_option("-e,--maxbytes", arguments.end, "largest size")->capture_default_str();
  app.add_option("-f,--stepfactor", arguments.factor, "factor between sizes")->capture_default_str();
  app.add_option("-n,--iters", arguments.iterations, "timed calls")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", arguments.warmups, "calls before them")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("-o,--op", arguments.op, "sum or average")->capture_default_str();
  app.add_option("-d,--dtype", arguments.type, "type of the vectors: f32, bf16 or f16")
      ->capture_default_str();
  app.add_option("--input", arguments.input, "normal: independent; equal: the same on every rank; integers")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "print JSON");
  return cerar::program::run_program(app, argc, argv, [&] { return run(arguments); });
}
