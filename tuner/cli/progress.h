#pragma once

#include <string>

namespace cerar::tuner {

/// One line on stderr that says what is being done, rewritten in place; silent unless stderr is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  void operator()(const std::string& step);
  /// Removes the line.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace cerar::tuner
