#include "tests/multiprocess/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include "runtime/gloo/meeting/socket.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

using Clock = std::chrono::steady_clock;

int mark_pipe = -1;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return ends;
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = ::write(descriptor, text.data() + done, text.size() - done);
    if (put <= 0) return;
    done += static_cast<std::size_t>(put);
  }
}

[[noreturn]] void run(const std::function<std::string(int)>& body, int rank, int answers) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string answer;
  try {
    answer = body(rank);
  } catch (const std::exception& error) {
    answer = std::string("thrown: ") + error.what();
  }
  write_all(answers, answer);
  ::_exit(0);  // what the test process made is not this one's to tear down
}

bool readable(int descriptor, Clock::time_point deadline) {
  pollfd watched{descriptor, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = ::poll(&watched, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

Job::Job(int ranks, const std::function<std::string(int rank)>& body, std::chrono::seconds time_limit)
    : deadline_(Clock::now() + time_limit) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto answers = make_pipe(), marks = make_pipe();
    const pid_t process = ::fork();
    if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (process == 0) {
      mark_pipe = marks[1];
      run(body, rank, answers[1]);
    }
    ::close(answers[1]);
    ::close(marks[1]);
    ranks_.push_back({process, answers[0], marks[0]});
  }
}

Job::~Job() {
  deadline_ = Clock::now();
  finish();
}

void Job::signal(int rank, int number) const {
  ::kill(ranks_[static_cast<std::size_t>(rank)].process, number);
}

void Job::await_mark(int rank) {
  char mark = 0;
  const int pipe = ranks_[static_cast<std::size_t>(rank)].marks;
  if (!readable(pipe, deadline_) || ::read(pipe, &mark, 1) != 1)
    ADD_FAILURE() << "rank " << rank << " did not come to its mark";
}

Ending Job::await(int number) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  Ending ending;
  for (;;) {
    char block[4096];
    if (!readable(rank.answers, deadline_)) {
      ending.late = true;
      break;
    }
    const ssize_t got = ::read(rank.answers, block, sizeof(block));
    if (got <= 0) break;
    ending.answer.append(block, static_cast<std::size_t>(got));
  }
  if (ending.late) ::kill(rank.process, SIGKILL);
  int status = 0;
  while (::waitpid(rank.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  ::close(rank.answers);
  ::close(rank.marks);
  rank.process = -1;
  return ending;
}

std::vector<Ending> Job::finish() {
  std::vector<Ending> endings;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].process >= 0) endings.push_back(await(static_cast<int>(rank)));
  return endings;
}

void report_mark() { write_all(mark_pipe, "m"); }

void expect_all(int ranks, const std::function<std::string(int rank)>& body, const std::string& answer) {
  Job job(ranks, body);
  const auto endings = job.finish();
  for (std::size_t rank = 0; rank < endings.size(); ++rank) {
    EXPECT_EQ(endings[rank].answer, answer) << "rank " << rank;
    EXPECT_FALSE(endings[rank].late) << "rank " << rank;
    EXPECT_EQ(endings[rank].signal, 0) << "rank " << rank;
  }
}

std::string fresh_store() {
  static int number = 0;
  return fmt::format("file:{}/store-{}", job_scratch().string(), number++);
}

int free_port() {
  // Below the range from which the system takes ports of its own accord.
  static int next = 15000 + static_cast<int>(::getpid()) % 10000;
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = next++;
    const auto [listener, error] = runtime::listen_at(*runtime::parse_address("127.0.0.1", port));
    if (listener) return port;
  }
  throw std::runtime_error("no port of loopback is free");
}

std::string fresh_tcp_store() { return fmt::format("tcp:127.0.0.1:{}", free_port()); }

bool has_ipv6_loopback() { return bool(runtime::listen_at(*runtime::parse_address("::1", 0)).first); }

std::string answer_of(cerarResult_t result) {
  return result == cerarSuccess ? "ok"
                                : fmt::format("{}: {}", cerarGetErrorString(result), cerarGetLastError());
}

}  // namespace cerar::test
