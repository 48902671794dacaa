#include "tuner/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/program/output.h"

namespace cerar::tuner {
namespace {

// A line that wraps could not be rewritten.
std::size_t width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::operator()(const std::string& step) {
  if (!terminal_) return;
  // Codes of few workers are tried thousands of times a second.
  const auto now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  program::complain(fmt::format("\r\x1b[K{:.{}}", step, width()));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) program::complain("\r\x1b[K");
  shown_ = false;
}

}  // namespace cerar::tuner
