#pragma once

#include <chrono>
#include <string>

namespace cerar::tuner {

/// One line on stderr that says what is being done, rewritten in place; silent unless stderr is a terminal.
class Progress {
  using Clock = std::chrono::steady_clock;

 public:
  Progress();
  ~Progress();
  void operator()(const std::string& step);
  /// Removes the line.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  Clock::time_point last_;
};

}  // namespace cerar::tuner
