#pragma once

#include <functional>
#include <string>
#include <vector>

/// What the programs have in common: arguments, and how they report. A failure is a line "FAIL what"; the
/// last line is "FIGURE what the table shows" or "SKIP why".
namespace cerar::test {

/// "--name value" pairs, "--name" flags, and the rest.
class Arguments {
 public:
  Arguments(int argc, char** argv);
  bool flag(const std::string& name) const;
  /// Throws `invalid_argument` when the value is missing.
  std::string value(const std::string& name, const std::string& otherwise) const;
  int number(const std::string& name, int otherwise) const;
  /// Arguments that are no option, nor the value of one of `with_values`.
  std::vector<std::string> rest(const std::vector<std::string>& with_values) const;

 private:
  std::vector<std::string> arguments_;
};

/// Counts failures; from any thread.
class Report {
 public:
  void fail(const std::string& what);
  int failures() const;
};

/// Runs `body`, which returns the figure, or throws; what it throws is a failure. Returns the exit status: 0,
/// or 1 after failures.
int run_program(const std::function<std::string(Report&)>& body);

/// Thrown by `body` where nothing can be tested here: exit status 77.
struct Skip {
  std::string reason;
};

}  // namespace cerar::test
