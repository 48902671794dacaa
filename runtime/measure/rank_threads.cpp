#include "runtime/measure/rank_threads.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/measure/time_limit.h"

namespace cerar::runtime {

UniquePlan load_plan_at(const std::string& directory) {
  cerarPlan_t plan = nullptr;
  if (!directory.empty()) require_success(cerarPlanLoad(&plan, directory.c_str()));
  return UniquePlan(plan);
}

void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  std::exception_ptr first;
  std::mutex mutex;
  // Ranks wait for each other: none begins before all are there.
  enum Start { undecided, all_there, incomplete };
  std::atomic<Start> start = undecided;
  std::vector<std::thread> threads;
  const auto end = [&](Start decision) {
    start = decision;
    start.notify_all();
    for (auto& thread : threads) thread.join();
  };
  try {
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        start.wait(undecided);
        if (start == incomplete) return;
        try {
          body(rank);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
      });
  } catch (const std::system_error& error) {
    const std::size_t rank = threads.size();
    end(incomplete);
    throw Error(
        ErrorCode::system,
        fmt::format("there is no thread for rank {} of {}: {}; raise the limits on threads and memory "
                    "(ulimit -u, ulimit -v), or take a plan for fewer workers.",
                    rank, ranks, error.code().message()));
  } catch (...) {
    end(incomplete);
    throw;
  }
  end(all_there);
  if (first) std::rethrow_exception(first);
}

void RankMeeting::meet() {
  std::unique_lock lock(mutex_);
  const int round = round_;
  if (++present_ == ranks_) {
    present_ = 0;
    ++round_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return cause_ || round_ != round; });
  if (cause_ && round_ == round) std::rethrow_exception(cause_);
}

void RankMeeting::fail(std::exception_ptr cause) {
  const std::lock_guard lock(mutex_);
  if (!cause_) cause_ = std::move(cause);
  changed_.notify_all();
}

LocalRanks::LocalRanks(const std::string& plan_directory, int ranks, int timeout_ms)
    : LocalRanks(load_plan_at(plan_directory).get(), ranks, timeout_ms) {}

LocalRanks::LocalRanks(cerarPlan_t plan, int ranks, int timeout_ms)
    : comms_(static_cast<std::size_t>(ranks), nullptr) {
  require_success(cerarCommInitLocal(comms_.data(), ranks, plan, TimeLimit(timeout_ms)));
}

LocalRanks::~LocalRanks() {
  for (cerarComm_t comm : comms_) cerarCommDestroy(comm);
}

}  // namespace cerar::runtime
