#include "runtime/bench/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/bench/device_vectors.h"
#include "runtime/bench/nccl_ids.h"
#include "runtime/program/available_memory.h"

namespace cerar::runtime {
namespace {

using Body = std::function<void(const Comparison&)>;

int plan_workers(const std::string& directory) {
  cerarPlan_t plan = nullptr;
  int workers = 0;
  require_success(cerarPlanLoad(&plan, directory.c_str()));
  const cerarResult_t result = cerarPlanWorkers(plan, &workers);
  cerarPlanFree(plan);
  require_success(result);
  return workers;
}

void in_threads(const Arguments& arguments, const Body& body) {
  const int workers = plan_workers(arguments.plan);
  const LocalRanks ranks(arguments.plan, workers), ring("", workers);
  body({.ranks = workers,
        .ranks_here = workers,
        .ranks_beside = workers,
        .where = "local (threads of this process)",
        .reserve = [](std::size_t) {},
        .errors = [&](const MeasureOptions& options) { return measure_errors(ranks, options); },
        .time_us = [&](const auto& options, int warmups,
                       int iterations) { return measure_time_us(ranks, options, warmups, iterations); },
        .baseline_time_us =
            [&](const auto& options, int warmups, int iterations) {
              return measure_time_us(ring, options, warmups, iterations);
            },
        .comm = ranks.comm(0)});
}

// The devices of a process with a thread for each rank.
std::vector<int> devices_of_threads(const Arguments& arguments, int workers) {
  auto devices = arguments.devices;
  if (devices.empty()) {
    devices.resize(static_cast<std::size_t>(workers));
    std::iota(devices.begin(), devices.end(), 0);
  }
  if (static_cast<int>(devices.size()) != workers)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--devices names {} devices, but the plan is for {} workers; name one for each.",
                            devices.size(), workers));
  const int most = device_count();
  for (const int device : devices)
    if (device >= most)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("device {} does not exist; there are {}, numbered from 0: name one for each of {} "
                      "workers with --devices.",
                      device, most, workers));
  return devices;
}

void require_different(std::vector<int> devices) {
  std::sort(devices.begin(), devices.end());
  const auto twice = std::adjacent_find(devices.begin(), devices.end());
  if (twice != devices.end())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--devices names device {} twice, which NCCL does not take; name others, or take "
                            "--transport gpus.",
                            *twice));
}

void over_copies(const Arguments& arguments, const Body& body) {
  const int workers = plan_workers(arguments.plan);
  const auto devices = devices_of_threads(arguments, workers);
  const LocalRanks mixing("", workers);
  std::vector<cerarComm_t> comms(devices.size());
  cerarPlan_t plan = nullptr;
  require_success(cerarPlanLoad(&plan, arguments.plan.c_str()));
  const cerarResult_t made = cerarCommInitGpus(comms.data(), workers, devices.data(), plan, nullptr);
  cerarPlanFree(plan);
  require_success(made);
  std::vector<JobComms> of_ranks;
  for (int rank = 0; rank < workers; ++rank)
    of_ranks.push_back({.measured = UniqueComm(comms[static_cast<std::size_t>(rank)]),
                        .ring = {},
                        .mixing = mixing.comm(rank)});
  run_ranks(workers, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const JobRank self(rank, workers, std::move(of_ranks[at]),
                       [&] { return make_device_vectors(devices[at]); });
    auto comparison = job_comparison("gpus (threads of this process, copies between devices)", self);
    comparison.ranks_here = workers;
    body(comparison);
  });
}

// `mixing` null: ranks combine what they measured over NCCL as well.
void as_nccl_rank(const Arguments& arguments, const NcclIds& ids, int rank, int ranks, int device,
                  cerarComm_t mixing, const std::string& where, const Body& body) {
  const auto on_device = [&] { return make_device_vectors(device); };
  auto comms = make_job_comms(arguments.plan, [&](cerarComm_t* comm, cerarPlan_t plan) {
    return cerarCommInitNcclId(comm, plan ? &ids.measured : &ids.ring, rank, ranks, device, plan, nullptr);
  });
  if (mixing) comms.mixing = mixing;
  const JobRank self(rank, ranks, std::move(comms), on_device,
                     mixing ? JobRank::MakeVectors(make_host_vectors) : on_device);
  auto comparison = job_comparison(where, self);
  comparison.baseline_name = "NCCL's own";
  if (mixing) comparison.ranks_here = ranks;
  body(comparison);
}

void over_nccl(const Arguments& arguments, const Body& body) {
  if (!arguments.rank && !arguments.size && arguments.store.empty()) {
    const int workers = plan_workers(arguments.plan);
    const auto devices = devices_of_threads(arguments, workers);
    require_different(devices);
    const NcclIds ids = make_nccl_ids();
    const LocalRanks mixing("", workers);
    run_ranks(workers, [&](int rank) {
      as_nccl_rank(arguments, ids, rank, workers, devices[static_cast<std::size_t>(rank)], mixing.comm(rank),
                   "nccl (a thread of this process per rank)", body);
    });
    return;
  }
  require_job(arguments);
  if (arguments.devices.size() > 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--devices names {} devices, but this process is one rank; name one.",
                            arguments.devices.size()));
  const int device = arguments.devices.empty() ? *arguments.rank % device_count() : arguments.devices.front();
  const SharedNcclIds shared(arguments.store, *arguments.rank, *arguments.size);
  as_nccl_rank(arguments, shared.ids(), *arguments.rank, *arguments.size, device, nullptr,
               "nccl (one process per rank)", body);
}

struct Transport {
  const char* name;
  const char* help;
  void (*run)(const Arguments&, const Body&);
};
constexpr Transport kTransports[] = {
    {"local", "ranks are threads of this process", in_threads},
    {"gloo", "this process is one rank", over_gloo},
    {"mpi", "the same, started by mpirun (cerar-bench-mpi)", over_mpi},
    {"nccl", "this process is one rank, or with no --size all of them, on a GPU each", over_nccl},
    {"gpus", "ranks are threads, on --devices, that copy between GPUs", over_copies},
};

// Ranks tell each other where their memory is, as a number that a double holds.
int ranks_beside(const JobRank& rank) {
  const auto domain =
      static_cast<double>(std::stoull(sha256_hex(program::memory_domain()).substr(0, 12), nullptr, 16));
  const auto all = rank.gather({domain});
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const auto& row) { return row[0] == domain; }));
}

}  // namespace

void require_job(const Arguments& arguments) {
  if (arguments.store.empty() || !arguments.rank || !arguments.size)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--transport {} needs --rank, --size and --store, in one process per rank.",
                            arguments.transport));
  if (*arguments.size < 1 || *arguments.size > 4096)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--size is {} but must lie in 1..4096.", *arguments.size));
  if (*arguments.rank < 0 || *arguments.rank >= *arguments.size)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--rank is {} but must lie in 0..{}.", *arguments.rank, *arguments.size - 1));
}

Comparison job_comparison(const std::string& where, const JobRank& rank) {
  const auto time_of = [&](cerarComm_t comm) {
    return [&rank, comm](const MeasureOptions& options, int warmups, int iterations) {
      return measure_time_us(rank, comm, options, warmups, iterations);
    };
  };
  Comparison comparison{
      .ranks = rank.size(),
      .ranks_here = 1,
      .ranks_beside = ranks_beside(rank),
      .prints = rank.rank() == 0,
      .where = where,
      .reserve =
          [&](std::size_t bytes) {
            rank.vectors().reserve(bytes);
            rank.meet();
          },
      .errors = [&](const MeasureOptions& options) { return measure_errors(rank, options); },
      .time_us = time_of(rank.comms().measured.get()),
      .baseline_time_us = {},
      .comm = rank.comms().measured.get()};
  if (rank.comms().ring) comparison.baseline_time_us = time_of(rank.comms().ring.get());
  return comparison;
}

void run_comparison(const Arguments& arguments, const Body& body) {
  std::string known;
  for (const Transport& transport : kTransports) {
    if (arguments.transport == transport.name) return transport.run(arguments, body);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", transport.name);
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("--transport is '{}'; known are {}.", arguments.transport, known));
}

std::string transport_help() {
  std::string text;
  for (const Transport& transport : kTransports)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", transport.name, transport.help);
  return text;
}

}  // namespace cerar::runtime
