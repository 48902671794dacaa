// Ranks meet again and again, beside connections that say nothing. What a job of many ranks needs is shown by
//
//     ulimit -n 4096; build/ci/bin/many_meetings --ranks 128 --times 20 --idle 50
//     build/ci/bin/many_meetings --ranks 8 --times 1000 --busy 4
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "runtime/gloo/meeting/socket.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

int argument(int count, char** values, const std::string& name, int otherwise) {
  for (int i = 1; i + 1 < count; ++i)
    if (values[i] == name) return std::atoi(values[i + 1]);
  return otherwise;
}

std::string meet_once(int rank, int ranks, const std::string& store) {
  const Comm comm = join(rank, ranks, "", store);
  float x = 1;
  const auto answer = answer_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, comm.get(), nullptr));
  return answer == "ok" && x != static_cast<float>(ranks) ? "wrong sum" : answer;
}

// Until rank 0 listens; then they stay.
std::vector<runtime::Descriptor> connect_idly(int count, const std::string& host, int port) {
  std::vector<runtime::Descriptor> idle;
  const Deadline deadline(std::chrono::seconds(20));
  while (static_cast<int>(idle.size()) < count && !deadline.passed()) {
    auto [socket, error] = runtime::connect_to(*runtime::parse_address(host, port), deadline);
    if (socket) idle.push_back(std::move(socket));
  }
  return idle;
}

int run(int count, char** values) {
  const int ranks = argument(count, values, "--ranks", 8), times = argument(count, values, "--times", 20),
            idle = argument(count, values, "--idle", 0), busy = argument(count, values, "--busy", 0),
            in_a_row = argument(count, values, "--in-a-row", 1);
  Job load(
      busy,
      [](int) -> std::string {
        for (volatile bool goes_on = true; goes_on;) {
        }
        return "";
      },
      std::chrono::hours(1));
  int failures = 0;
  for (int time = 0; time < times; time += in_a_row) {
    const auto begin = std::chrono::steady_clock::now();
    const int port = free_port();
    const std::string store =
        argument(count, values, "--file", 0) ? fresh_store() : "tcp:127.0.0.1:" + std::to_string(port);
    // The last of the processes holds the idle connections.
    Job job(
        ranks + 1,
        [&](int rank) {
          if (rank == ranks) {
            const auto held = connect_idly(idle, "127.0.0.1", port);
            std::this_thread::sleep_for(std::chrono::seconds(idle ? 600 : 0));
            return std::to_string(held.size());
          }
          std::string answer = "ok";
          for (int i = 0; i < in_a_row && answer == "ok"; ++i) answer = meet_once(rank, ranks, store);
          return answer;
        },
        std::chrono::seconds(600));
    int good = 0;
    std::string first;
    for (int rank = 0; rank < ranks; ++rank) {
      const Ending ending = job.await(rank);
      good += ending.answer == "ok";
      if (ending.answer != "ok" && first.empty())
        first = "rank " + std::to_string(rank) + ": " + ending.answer;
    }
    failures += good != ranks;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (in_a_row > 1 || ranks > 8 || good != ranks)
      std::printf("%d: %d of %d ranks in %.2f s %s\n", time, good, ranks, seconds, first.c_str());
    std::fflush(stdout);
  }
  std::printf("%d ranks, %d meetings, %d failed\n", ranks, times, failures);
  return failures != 0;
}

}  // namespace
}  // namespace cerar::test

int main(int count, char** values) { return cerar::test::run(count, values); }
