#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/candidates.h"

namespace cerar::tuner {

/// An answer of zeros has this error; --pareto shows everything that is better unless the user limits it.
inline constexpr double kWorthlessError = 1;

/// Command line of `cerar-tune --topology ...`, as text where a word must still be checked.
struct TuneArguments {
  std::string topology;
  std::optional<int> workers;
  std::optional<int> components;
  std::optional<double> max_error;  ///< what a plan may have without it: default_max_error
  std::optional<double> max_condition;
  std::string construction;  ///< empty: any
  std::string data_type = "f32";
  std::string wire = "native";
  std::vector<std::string> architectures;  ///< in addition to the topology's
  std::string host_target;                 ///< what host kernels are compiled for; empty: this machine
  std::string out;                         ///< empty: plans/<topology>-n<workers>
  bool keep = false;                       ///< refuse to replace an existing plan
  bool json = false;
  bool pareto = false;        ///< the front instead of a plan
  std::string size = "256M";  ///< of the front's vectors
  std::string plot;           ///< file for the front's plot; empty: none
};

/// Command line of `cerar-tune compare`.
struct CompareArguments {
  int workers = 8;
  std::vector<int> components;  ///< empty: N+1, 3N/2 and 2, 3, 4, 8 N
  bool json = false;
};

/// What the words of a search and of a front mean. Throws `invalid_argument` or `unsupported` naming the
/// option and its value.
SearchOptions search_options(const TuneArguments& arguments, const Topology& topology);

/// Each command prints its result on stdout and returns the process's exit code; errors are thrown.
int run_tune(const TuneArguments& arguments);
int run_pareto(const TuneArguments& arguments);
int run_compare(const CompareArguments& arguments);
int run_show(const std::string& plan_directory, bool json);
/// Goes on to the next plan after one that differs or cannot be read; 1 when there was any.
int run_check(const std::vector<std::string>& plan_directories);

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
