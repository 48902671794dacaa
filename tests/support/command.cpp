#include "tests/support/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace cerar::test {
namespace {

using Clock = std::chrono::steady_clock;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return ends;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> full_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> list = additions;
  for (char** entry = environ; *entry; ++entry) {
    const std::string word = *entry;
    bool replaced = false;
    for (const std::string& addition : additions)
      replaced = replaced || word.compare(0, word.find('='), addition, 0, addition.find('=')) == 0;
    if (!replaced) list.push_back(word);
  }
  return list;
}

bool lead(int number, Stream stream, int captured) {
  int ends[2] = {-1, captured};
  if (stream == Stream::closed) return ::close(number) == 0;
  if (stream == Stream::full) ends[1] = ::open("/dev/full", O_WRONLY);
  if (stream == Stream::broken && ::pipe2(ends, O_CLOEXEC) == 0) ::close(ends[0]);
  return ::dup2(ends[1], number) >= 0;
}

// Runs between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, char* const* environment, const CommandOptions& options, int out,
                         int err) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  const bool ready = ::dup2(nothing, 0) >= 0 && lead(1, options.out, out) && lead(2, options.err, err) &&
                     ::chdir(options.directory.c_str()) == 0;
  if (options.memory_limit > 0) {
    const rlimit limit{options.memory_limit, options.memory_limit};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  for (const auto& [resource, most] : options.limits) {
    const rlimit limit{most, most};
    ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  }
  if (ready) ::execve(words[0], words, environment);
  ::_exit(127);
}

/// Moves what has come into `text`; false at the end.
bool drain(int descriptor, std::string& text) {
  char block[4096];
  const ssize_t got = ::read(descriptor, block, sizeof(block));
  if (got > 0) text.append(block, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void collect(pid_t child, int out, int err, Clock::time_point deadline, bool counts_as_timeout,
             CommandResult& result) {
  std::array<pollfd, 2> watched = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
    if (left <= 0 && result.signal == 0) {
      ::kill(child, SIGKILL);
      result.signal = SIGKILL;
      result.timed_out = counts_as_timeout;
    }
    const long long wait = result.signal == 0 ? left : 1'000'000'000;
    const timespec limit{static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
    if (::ppoll(watched.data(), watched.size(), &limit, nullptr) <= 0) continue;
    if (watched[0].revents != 0 && !drain(out, result.out)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !drain(err, result.err)) watched[1].fd = -1;
  }
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& words, const CommandOptions& options) {
  std::vector<std::string> arguments = words, environment = full_environment(options.environment);
  const auto argument_list = pointers(arguments), environment_list = pointers(environment);
  const auto out = make_pipe(), err = make_pipe();
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(argument_list.data(), environment_list.data(), options, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  CommandResult result;
  const Clock::time_point deadline =
      start + (options.kill_after ? std::chrono::duration_cast<Clock::duration>(*options.kill_after)
                                  : std::chrono::duration_cast<Clock::duration>(options.time_limit));
  collect(child, out[0], err[0], deadline, !options.kill_after, result);
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace cerar::test
