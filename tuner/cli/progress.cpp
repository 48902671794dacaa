#include "tuner/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace cerar::tuner {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::operator()(const std::string& step) {
  if (!terminal_) return;
  fmt::print(stderr, "\r\x1b[K{}", step);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace cerar::tuner
