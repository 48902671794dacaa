#include "tests/gpu/support/program.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>

#include "runtime/base/error.h"

namespace cerar::test {
namespace {

std::atomic<int> failures_so_far = 0;
constexpr int kMostShown = 50;

}  // namespace

Arguments::Arguments(int argc, char** argv) : arguments_(argv + 1, argv + argc) {}

bool Arguments::flag(const std::string& name) const {
  return std::find(arguments_.begin(), arguments_.end(), name) != arguments_.end();
}

std::string Arguments::value(const std::string& name, const std::string& otherwise) const {
  const auto at = std::find(arguments_.begin(), arguments_.end(), name);
  if (at == arguments_.end()) return otherwise;
  if (at + 1 == arguments_.end())
    throw Error(ErrorCode::invalid_argument, name + " has no value; write one behind it.");
  return *(at + 1);
}

int Arguments::number(const std::string& name, int otherwise) const {
  const std::string text = value(name, std::to_string(otherwise));
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::invalid_argument, name + " is '" + text + "'; write a whole number.");
  return number;
}

std::vector<std::string> Arguments::rest(const std::vector<std::string>& with_values) const {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (std::find(with_values.begin(), with_values.end(), arguments_[i]) != with_values.end())
      ++i;
    else if (arguments_[i].rfind("--", 0) != 0)
      rest.push_back(arguments_[i]);
  }
  return rest;
}

void Report::fail(const std::string& what) {
  if (++failures_so_far <= kMostShown) std::printf("FAIL %s\n", what.c_str());
  std::fflush(stdout);
}

int Report::failures() const { return failures_so_far; }

int run_program(const std::function<std::string(Report&)>& body) {
  Report report;
  std::string figure = "nothing measured";
  try {
    figure = body(report);
  } catch (const Skip& skip) {
    std::printf("SKIP %s\n", skip.reason.c_str());
    return std::fflush(stdout) == 0 ? 77 : 1;
  } catch (const std::exception& error) {
    report.fail(error.what());
  }
  std::printf("FIGURE %s\n", figure.c_str());
  return std::fflush(stdout) != 0 || std::ferror(stdout) || report.failures() ? 1 : 0;
}

}  // namespace cerar::test
