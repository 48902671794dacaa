// gpu-virtual-ranks [--small] [--repeats N] [--large] PLAN...: all ranks of each plan on device 0, a thread
// each. --small: few short vectors; --large: also 16 MiB and 64 MiB.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/measure/rank_threads.h"
#include "runtime/measure/time_limit.h"
#include "runtime/plan/plan_file.h"
#include "tests/gpu/ranks/rank.h"
#include "tests/gpu/support/driver_extras.h"
#include "tests/gpu/support/program.h"

namespace cerar::test {
namespace {

using runtime::require_success;

constexpr std::size_t kMiB = 1 << 20;
constexpr cerarDataType_t kTypes[] = {cerarFloat32, cerarBfloat16, cerarFloat16};

struct Options {
  bool small = false, large = false;
  int repeats = 0;
};

class VirtualRanks {
 public:
  VirtualRanks(const std::string& directory, Report& report) : directory_(directory), report_(report) {
    use_plan(directory);
    cerarPlan_t plan = nullptr;
    require_success(cerarPlanLoad(&plan, directory.c_str()));
    int workers = 0;
    cerarPlanWorkers(plan, &workers);
    std::vector<cerarComm_t> comms(static_cast<std::size_t>(workers));
    const std::vector<int> devices(comms.size(), 0);
    const cerarResult_t made =
        cerarCommInitGpus(comms.data(), workers, devices.data(), plan, TimeLimit(20000));
    cerarPlanFree(plan);
    require_success(made);
    for (int rank = 0; rank < workers; ++rank)
      ranks_.push_back(std::make_unique<Rank>(rank, 0, comms[static_cast<std::size_t>(rank)]));
  }

  int size() const { return static_cast<int>(ranks_.size()); }

  /// The results, [rank].
  std::vector<std::vector<std::byte>> call(const RankInputs& inputs, const CallCase& call) {
    std::vector<std::vector<std::byte>> results(ranks_.size());
    std::vector<std::jthread> threads;
    for (const auto& rank : ranks_)
      threads.emplace_back([&, r = rank.get()] {
        std::vector<std::string> problems;
        try {
          results[static_cast<std::size_t>(r->rank())] = r->call(inputs, call, problems);
        } catch (const std::exception& error) {
          problems.emplace_back(error.what());
        }
        const std::lock_guard hold(mutex_);
        for (const auto& problem : problems)
          report_.fail(fmt::format("{}, {}, rank {}: {}", directory_, name_of(call, inputs.type()), r->rank(),
                                   problem));
      });
    return results;
  }

 private:
  const std::string directory_;
  Report& report_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

// Inputs are the slow part, and the same for many plans.
const RankInputs& inputs_for(runtime::Input kind, int ranks, std::size_t most, cerarDataType_t type) {
  static std::map<std::tuple<runtime::Input, int, std::size_t, cerarDataType_t>, RankInputs> made;
  return made.try_emplace({kind, ranks, most, type}, kind, ranks, most, type).first->second;
}

std::size_t run_plan(const std::string& directory, const Options& options, Report& report) {
  VirtualRanks ranks(directory, report);
  const runtime::Input kind = input_for(directory);
  const auto plan = runtime::load_plan(directory);
  const auto row = static_cast<std::size_t>(plan.variants.back().shape.components) *
                   static_cast<std::size_t>(plan.variants.back().interleave);
  std::vector<std::size_t> counts = {1, row - 1, row + 1, 24001};
  if (!options.small) counts.insert(counts.end(), {31, 2 * row, kMiB / 4 + 5});
  const std::size_t most = options.small ? 24001 : kMiB / 4 + 5;
  std::size_t calls = 0;
  for (const cerarDataType_t type : kTypes)
    for (const std::size_t count : counts)
      for (const bool in_place : {false, true})
        for (const cerarRedOp_t op : {cerarSum, cerarAverage}) {
          const RankInputs& inputs = inputs_for(kind, ranks.size(), std::max(most, 2 * row), type);
          ranks.call(inputs, {count, in_place, op});
          ++calls;
        }
  if (options.large)
    for (const auto& [type, bytes] : {std::pair{cerarFloat32, 16 * kMiB},
                                      {cerarFloat16, 16 * kMiB},
                                      {cerarFloat32, 64 * kMiB},
                                      {cerarBfloat16, 64 * kMiB}}) {
      // Few plans run this, and each of its inputs is large.
      const std::size_t count = bytes / runtime::element_bytes(type) - (bytes == 16 * kMiB ? 3 : 0);
      ranks.call(RankInputs(kind, ranks.size(), count, type), {count, type != cerarFloat32, cerarSum});
      ++calls;
    }
  const CallCase repeated{options.small ? 24001 : kMiB / 4 + 5, false, cerarSum};
  std::vector<std::vector<std::byte>> first;
  for (int i = 0; i < options.repeats; ++i, ++calls) {
    auto results =
        ranks.call(inputs_for(kind, ranks.size(), std::max(most, 2 * row), cerarFloat32), repeated);
    if (first.empty())
      first = std::move(results);
    else if (results != first)
      report.fail(fmt::format("{}: repetition {} of {} has other bits than the first", directory, i,
                              name_of(repeated, cerarFloat32)));
  }
  return calls;
}

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  return run_program([&](Report& report) {
    const Arguments arguments(argc, argv);
    const Options options{.small = arguments.flag("--small"),
                          .large = arguments.flag("--large"),
                          .repeats = arguments.number("--repeats", 0)};
    std::size_t calls = 0, plans = 0;
    for (const auto& directory : arguments.rest({"--repeats"})) {
      try {
        calls += run_plan(directory, options, report);
        ++plans;
      } catch (const std::exception& error) {
        report.fail(directory + ": " + error.what());
      }
    }
    if (!calls) report.fail("nothing was called; name plan directories");
    return fmt::format("{} plans, {} calls", plans, calls);
  });
}
