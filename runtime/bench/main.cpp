#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/one_line.h"
#include "runtime/bench/job_rank.h"
#include "runtime/bench/measure.h"
#include "runtime/bench/size_text.h"

// cerar-bench: the columns and flags of nccl-tests, plus error, bytes on the wire and the plain ring beside
// it.
//
// algbw = size / time. busbw = algbw * 2(N-1)/N, the rate at which a ring would have to move bytes over each
// link; a coded all-reduce moves fewer, so its busbw may exceed the link's rate. wirebw = bytes really sent /
// time.
namespace {

using namespace cerar::runtime;

struct Arguments {
  std::string plan, transport = "local", begin = "1M", end = "64M";
  double factor = 2;
  int iterations = 5, warmups = 1;
  std::string op = "sum", input = "normal";
  bool json = false;
  int rank = 0, size = 0;  // of a job of processes
  std::string store, interface_name;
};

/// The ranks that are measured, wherever they run.
struct Contest {
  int ranks = 0;
  bool prints = true;
  std::string where;
  std::function<Errors(const MeasureOptions&)> errors;
  std::function<double(const MeasureOptions&, int warmups, int iterations)> time_us, ring_time_us;
  cerarComm_t comm = nullptr;  // one that ran the calls measured
};

struct Half {  // out of place or in place
  double time_us = 0;
  Errors errors;
  cerarCallInfo_t info{};
};

Half measure_half(const Contest& contest, const MeasureOptions& options, const Arguments& arguments) {
  Half half;
  half.errors = contest.errors(options);
  half.time_us = contest.time_us(options, arguments.warmups, arguments.iterations);
  require_success(cerarCommLastCall(contest.comm, &half.info));
  return half;
}

int plan_workers(const std::string& directory) {
  cerarPlan_t plan = nullptr;
  int workers = 0;
  require_success(cerarPlanLoad(&plan, directory.c_str()));
  const cerarResult_t result = cerarPlanWorkers(plan, &workers);
  cerarPlanFree(plan);
  require_success(result);
  return workers;
}

Contest local_contest(const Arguments& arguments) {
  const int workers = plan_workers(arguments.plan);
  const auto ranks = std::make_shared<LocalRanks>(arguments.plan, workers);
  const auto ring = std::make_shared<LocalRanks>("", workers);
  return {
      .ranks = workers,
      .where = "local (threads of this process)",
      .errors = [ranks](const MeasureOptions& options) { return measure_errors(*ranks, options); },
      .time_us = [ranks](const auto& options, int warmups,
                         int iterations) { return measure_time_us(*ranks, options, warmups, iterations); },
      .ring_time_us = [ring](const auto& options, int warmups,
                             int iterations) { return measure_time_us(*ring, options, warmups, iterations); },
      .comm = ranks->comm(0)};
}

Contest job_contest(const std::string& where, std::shared_ptr<JobRank> rank) {
  return {.ranks = rank->size(),
          .prints = rank->rank() == 0,
          .where = where,
          .errors = [rank](const MeasureOptions& options) { return measure_errors(*rank, options); },
          .time_us =
              [rank](const auto& options, int warmups, int iterations) {
                return measure_time_us(*rank, rank->comm(), options, warmups, iterations);
              },
          .ring_time_us =
              [rank](const auto& options, int warmups, int iterations) {
                return measure_time_us(*rank, rank->ring(), options, warmups, iterations);
              },
          .comm = rank->comm()};
}

Contest gloo_contest(const Arguments& arguments) {
  if (arguments.store.empty() || arguments.size == 0)
    throw cerar::Error(cerar::ErrorCode::invalid_argument,
                       "--transport gloo needs --rank, --size and --store, in one process per rank.");
  const char* interface_name = arguments.interface_name.empty() ? nullptr : arguments.interface_name.c_str();
  return job_contest("gloo (one process per rank)",
                     std::make_shared<JobRank>(arguments.rank, arguments.size, arguments.plan,
                                               [&](cerarComm_t* comm, cerarPlan_t plan) {
                                                 return cerarCommInitGloo(
                                                     comm, arguments.rank, arguments.size, plan,
                                                     arguments.store.c_str(), interface_name, 0);
                                               }));
}

Contest make_contest(const Arguments& arguments) {
  if (arguments.transport == "local") return local_contest(arguments);
  if (arguments.transport == "gloo") return gloo_contest(arguments);
  throw cerar::Error(cerar::ErrorCode::unsupported,
                     fmt::format("--transport is '{}'; known are local, gloo.", arguments.transport));
}

nlohmann::json half_json(const Half& half, double bytes, int ranks) {
  const double algbw = bytes / half.time_us / 1e3;
  return {{"time_us", half.time_us},
          {"algbw_gbs", algbw},
          {"busbw_gbs", algbw * 2 * (ranks - 1) / ranks},
          {"wirebw_gbs", static_cast<double>(half.info.sent_bytes) / half.time_us / 1e3},
          {"wrong", half.errors.wrong},
          {"error", half.errors.relative_rms},
          {"claimed_error", half.info.claimed_error},
          {"worst_rank_error", half.errors.worst_rank},
          {"between_ranks", half.errors.between_ranks}};
}

void print_row(const nlohmann::json& row) {
  fmt::print("{:>12} {:>12} {:>5} {:>7} {:<20}", row["size"].get<std::uint64_t>(),
             row["count"].get<std::uint64_t>(), "f32", row["redop"].get<std::string>(),
             row["variant"].get<std::string>());
  for (const char* half : {"out_of_place", "in_place"})
    fmt::print(" {:>10.1f} {:>7.2f} {:>7.2f} {:>6}", row[half]["time_us"].get<double>(),
               row[half]["algbw_gbs"].get<double>(), row[half]["busbw_gbs"].get<double>(),
               row[half]["wrong"].get<std::uint64_t>());
  fmt::print(" {:>9.2e} {:>9.2e} {:>12} {:>7.2f} {:>10.1f}\n", row["in_place"]["error"].get<double>(),
             row["claimed_error"].get<double>(), row["sent_bytes"].get<std::uint64_t>(),
             row["in_place"]["wirebw_gbs"].get<double>(), row["ring_time_us"].get<double>());
  std::fflush(stdout);
}

void print_heading(const Contest& contest) {
  fmt::print("# {} ranks, transport {}\n", contest.ranks, contest.where);
  fmt::print("# {:>10} {:>12} {:>5} {:>7} {:<20} {:^33} {:^33} {:>9} {:>9} {:>12} {:>7} {:>10}\n", "", "", "",
             "", "", "out of place", "in place", "", "", "", "", "plain ring");
  fmt::print("# {:>10} {:>12} {:>5} {:>7} {:<20}", "size", "count", "type", "redop", "variant");
  for (int i = 0; i < 2; ++i) fmt::print(" {:>10} {:>7} {:>7} {:>6}", "time", "algbw", "busbw", "#wrong");
  fmt::print(" {:>9} {:>9} {:>12} {:>7} {:>10}\n", "error", "claimed", "sent", "wirebw", "time");
  fmt::print("# {:>10} {:>12} {:>5} {:>7} {:<20}", "B", "elements", "", "", "");
  for (int i = 0; i < 2; ++i) fmt::print(" {:>10} {:>7} {:>7} {:>6}", "us", "GB/s", "GB/s", "");
  fmt::print(" {:>9} {:>9} {:>12} {:>7} {:>10}\n", "rel. rms", "rel. rms", "B per rank", "GB/s", "us");
}

Input input_of(const std::string& name) {
  if (name == "normal") return Input::normal;
  if (name == "equal") return Input::equal;
  if (name == "integers") return Input::integers;
  throw cerar::Error(cerar::ErrorCode::unsupported,
                     fmt::format("--input is '{}'; known are normal, equal, integers.", name));
}

int run(const Arguments& arguments) {
  if (arguments.op != "sum" && arguments.op != "average")
    throw cerar::Error(cerar::ErrorCode::unsupported,
                       fmt::format("--op is '{}'; known are sum, average.", arguments.op));
  const Input input = input_of(arguments.input);
  const auto sizes = sizes_between(arguments.begin, arguments.end, arguments.factor);
  const Contest contest = make_contest(arguments);
  nlohmann::json rows = nlohmann::json::array();
  if (contest.prints && !arguments.json) print_heading(contest);
  bool good = true;
  for (const std::uint64_t size : sizes) {
    MeasureOptions options{.count = static_cast<std::size_t>(size / sizeof(float)),
                           .input = input,
                           .op = arguments.op == "average" ? cerarAverage : cerarSum};
    const Half apart = measure_half(contest, options, arguments);
    options.in_place = true;
    const Half place = measure_half(contest, options, arguments);
    const double ring_us = contest.ring_time_us(options, arguments.warmups, arguments.iterations);
    const auto bytes = static_cast<double>(options.count * sizeof(float));
    nlohmann::json row = {{"size", options.count * sizeof(float)},
                          {"count", options.count},
                          {"type", "f32"},
                          {"redop", arguments.op},
                          {"variant", place.info.variant},
                          {"components", place.info.components},
                          {"lanes", place.info.lanes},
                          {"sent_bytes", place.info.sent_bytes},
                          {"messages", place.info.messages},
                          {"scratch_bytes", place.info.scratch_bytes},
                          {"claimed_error", place.info.claimed_error},
                          {"out_of_place", half_json(apart, bytes, contest.ranks)},
                          {"in_place", half_json(place, bytes, contest.ranks)},
                          {"ring_time_us", ring_us}};
    good = good && apart.errors.wrong == 0 && place.errors.wrong == 0;
    if (contest.prints && !arguments.json) print_row(row);
    rows.push_back(std::move(row));
  }
  if (contest.prints && arguments.json)
    fmt::print(
        "{}\n",
        nlohmann::json{{"ranks", contest.ranks}, {"transport", arguments.transport}, {"rows", rows}}.dump(2));
  if (!good) throw cerar::Error(cerar::ErrorCode::internal, "some results are wrong: see the column #wrong.");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures a plan's all-reduce: time, error, bytes sent, and the plain ring beside it.",
               "cerar-bench"};
  Arguments arguments;
  app.add_option("--plan", arguments.plan, "plan directory made by cerar-tune")->required();
  app.add_option("--transport", arguments.transport,
                 "local: ranks are threads of this process; gloo: this process is one rank")
      ->capture_default_str();
  app.add_option("--rank", arguments.rank, "this process's rank, from 0 (gloo)");
  app.add_option("--size", arguments.size, "number of ranks (gloo)");
  app.add_option("--store", arguments.store, "where ranks meet: file:DIRECTORY or tcp:HOST:PORT (gloo)");
  app.add_option("--interface", arguments.interface_name, "network interface or address to use (gloo)");
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
  app.add_option("--input", arguments.input, "normal: independent; equal: the same on every rank; integers")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "print JSON");
  try {
    app.parse(argc, argv);
    return run(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "cerar-bench: %s (see cerar-bench --help)\n", cerar::one_line(error.what()).c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "cerar-bench: memory is exhausted by sizes up to %s; choose a smaller -e.\n",
                 cerar::one_line(arguments.end).c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cerar-bench: %s\n", cerar::one_line(error.what()).c_str());
    return 1;
  }
}
