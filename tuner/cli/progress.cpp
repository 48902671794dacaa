#include "tuner/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/program/output.h"

namespace cerar::tuner {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::operator()(const std::string& step) {
  if (!terminal_) return;
  program::complain(fmt::format("\r\x1b[K{}", step));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) program::complain("\r\x1b[K");
  shown_ = false;
}

}  // namespace cerar::tuner
