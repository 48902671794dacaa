#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runtime/include/cerar_gloo.h"

namespace cerar::test {

/// How a rank's process ended.
struct Ending {
  int signal = 0;      ///< that killed it; 0 when it ended by itself
  bool late = false;   ///< it was still there at the time limit, and was killed
  std::string answer;  ///< what its body returned; "thrown: ..." for an exception
};

/// Ranks as processes: forks of this one, which must have a single thread.
class Job {
 public:
  /// Starts body(rank) in a process for each rank. The time limit only ends what hangs.
  Job(int ranks, const std::function<std::string(int rank)>& body,
      std::chrono::seconds time_limit = std::chrono::seconds(120));
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void signal(int rank, int number) const;
  /// Waits until a rank has written `mark` (report_mark).
  void await_mark(int rank);
  /// Waits for one rank, or kills it at the time limit.
  Ending await(int rank);
  /// Waits for all ranks, or kills them at the time limit. [rank]
  std::vector<Ending> finish();

 private:
  struct Rank {
    pid_t process = -1;
    int answers = -1, marks = -1;  // pipes
  };
  std::vector<Rank> ranks_;
  std::chrono::steady_clock::time_point deadline_;
};

/// In a rank's process: lets the test's await_mark return.
void report_mark();

/// Runs a job and expects the same answer of every rank.
void expect_all(int ranks, const std::function<std::string(int rank)>& body,
                const std::string& answer = "ok");

/// A fresh store for each call: "file:" and a directory of this test process.
std::string fresh_store();

/// A TCP port of loopback that nobody used a moment ago.
int free_port();
/// "tcp:127.0.0.1:" and such a port.
std::string fresh_tcp_store();

bool has_ipv6_loopback();

/// "ok", or the error of a C call.
std::string answer_of(cerarResult_t result);

}  // namespace cerar::test
