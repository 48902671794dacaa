#include "runtime/measure/rank_threads.h"

#include <exception>
#include <mutex>
#include <thread>

namespace cerar::runtime {

void run_ranks(int ranks, const std::function<void(int rank)>& body) {
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

LocalRanks::LocalRanks(const std::string& plan_directory, int ranks, int timeout_ms)
    : comms_(static_cast<std::size_t>(ranks), nullptr) {
  cerarPlan_t plan = nullptr;
  if (!plan_directory.empty()) require_success(cerarPlanLoad(&plan, plan_directory.c_str()));
  const cerarResult_t result = cerarCommInitLocal(comms_.data(), ranks, plan, timeout_ms);
  cerarPlanFree(plan);
  require_success(result);
}

LocalRanks::~LocalRanks() {
  for (cerarComm_t comm : comms_) cerarCommDestroy(comm);
}

}  // namespace cerar::runtime
