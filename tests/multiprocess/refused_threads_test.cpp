// The system refuses one of the threads that a communicator between processes needs.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "runtime/measure/time_limit.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace {
std::atomic<int> refused_thread = -1;  // its number, counted down
}

// The C++ library's own calls come here as well.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using Create = decltype(&pthread_create);
  static const auto real = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (refused_thread >= 0 && refused_thread-- == 0) return EAGAIN;
  return real(thread, attributes, body, argument);
}

namespace cerar::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

std::string join_and_sum(int rank, const std::string& store) {
  cerarComm_t made = nullptr;
  if (const auto answer =
          answer_of(cerarCommInitGloo(&made, rank, 2, nullptr, store.c_str(), nullptr, TimeLimit(60000)));
      answer != "ok")
    return answer;
  const Comm comm(made);
  float x = static_cast<float>(rank + 1);
  const auto answer = answer_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, comm.get(), nullptr));
  return answer == "ok" && x != 3 ? "wrong sum" : answer;
}

// Rank 0's first, second, ... thread, until there are as many as it needs: the meeting's server, Gloo's own,
// and those that connect, keep deadlines and listen.
TEST(RefusedThreads, EachIsASentenceAndTheNextCommunicatorWorks) {
  for (const bool by_port : {false, true}) {
    int refusals = 0;
    for (bool refused = true; refused; ++refusals) {
      const std::string store = by_port ? fresh_tcp_store() : fresh_store(), later = fresh_store();
      // Rank 0, the other rank, which is killed when nobody comes to it, and that of the next communicator.
      Job job(3, [&](int process) -> std::string {
        if (process > 0) return join_and_sum(1, process == 1 ? store : later);
        const auto before = open_descriptors();
        refused_thread = refusals;
        std::string answer = join_and_sum(0, store);
        refused_thread = -1;
        // Gloo itself forgets one where it gets no thread.
        const bool gloos_own = answer.find("a thread for connections") != std::string::npos;
        if (const auto left = open_descriptors() - before; left != (gloos_own ? 1 : 0))
          answer += " LEAVES " + std::to_string(left) + " descriptors";
        return answer + "\n" + join_and_sum(0, later);
      });
      const Ending first = job.await(0);
      refused = first.answer != "ok\nok";
      if (refused) job.signal(1, SIGKILL);
      EXPECT_EQ(job.await(2).answer, "ok");
      EXPECT_EQ(first.signal, 0);
      if (refused) {
        EXPECT_THAT(first.answer,
                    AllOf(StartsWith("system error: the system refused a thread "), HasSubstr("ulimit -u"),
                          testing::Not(HasSubstr("LEAVES")), testing::EndsWith("\nok")));
      }
      ASSERT_LT(refusals, 20);
    }
    EXPECT_GE(refusals, by_port ? 5 : 4);
  }
}

}  // namespace
}  // namespace cerar::test
