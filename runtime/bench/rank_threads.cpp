#include "runtime/bench/rank_threads.h"

#include <exception>
#include <thread>

#include "runtime/base/error.h"

namespace cerar::runtime {

void require_success(cerarResult_t result) {
  if (result != cerarSuccess) throw Error(ErrorCode::invalid_argument, cerarGetLastError());
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

void LocalRanks::run(const std::function<void(int rank)>& body) const {
  std::vector<std::exception_ptr> errors(comms_.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace cerar::runtime
