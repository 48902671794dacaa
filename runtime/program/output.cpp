#include "runtime/program/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/error.h"

namespace cerar::program {
namespace {

std::atomic<bool> broken_pipe = false, lost_complaint = false;

/// 0, or the operating system's reason. Also for pipes that another program has made non-blocking.
int write_all(int stream, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(stream, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd room{stream, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void require_written(int reason) {
  if (reason == 0) return;
  if (reason == EPIPE) broken_pipe = true;
  const char* const advice = reason == EBADF    ? "leave it open, or send it to /dev/null"
                             : reason == ENOSPC ? "free space there"
                                                : "send it to where it can be written";
  throw Error(ErrorCode::system,
              fmt::format("standard output cannot be written: {}; {}.", std::strerror(reason), advice));
}

}  // namespace

void prepare_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest free number
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void print_text(std::string_view text) { require_written(write_all(STDOUT_FILENO, text)); }

void complain(std::string_view text) noexcept {
  if (write_all(STDERR_FILENO, text) != 0) lost_complaint = true;
}

bool reader_is_gone() noexcept { return broken_pipe; }

bool finish_streams() {
  // Closing any descriptor of a file has NFS write what is left. A copy, so that no number becomes free.
  const int copy = ::dup(STDOUT_FILENO);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) require_written(errno);
  return !lost_complaint;
}

}  // namespace cerar::program
