// An application whose timer interrupts every system call, in all that ranks do with each other.
#include <gtest/gtest.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>

#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

std::atomic<int> signals = 0;

// Without SA_RESTART; more often than most system calls take here.
class Storm {
 public:
  Storm() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++signals; };
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{{0, 500}, {0, 500}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~Storm() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
};

TEST(SignalStorm, DisturbsNeitherMeetingNorCalls) {
  constexpr int kRanks = 3;
  const std::string plan = job_plan("ring", kRanks, 1);
  for (const std::string& store : {fresh_store(), fresh_tcp_store()})
    expect_all(kRanks, [&](int rank) -> std::string {
      const Storm storm;
      for (int time = 0; time < 3; ++time) {
        const Comm comm = join(rank, kRanks, plan, store);
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
          std::vector<float> vector(count, static_cast<float>(rank + 1));
          const auto answer = answer_of(cerarAllReduce(vector.data(), vector.data(), count, cerarFloat32,
                                                       cerarSum, comm.get(), nullptr));
          if (answer != "ok") return answer;
          for (const float x : vector)
            if (x != 6) return "wrong sum";
        }
      }
      return signals > 10 ? "ok" : "no signals came";
    });
}

}  // namespace
}  // namespace cerar::test
