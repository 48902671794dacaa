#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cerar::tuner {

/// Command line of `cerar-tune --topology ...`, as text where a word must still be checked.
struct TuneArguments {
  std::string topology;
  std::optional<int> workers;
  std::optional<int> components;
  double max_error = 1e-3;
  std::optional<double> max_condition;
  std::string construction;  ///< empty: any
  std::string data_type = "f32";
  std::string wire = "native";
  std::vector<std::string> architectures;  ///< in addition to the topology's
  std::string out;                         ///< empty: plans/<topology>-n<workers>
  bool keep = false;                       ///< refuse to replace an existing plan
  bool json = false;
};

/// Each command prints its result on stdout and returns the process's exit code; errors are thrown.
int run_tune(const TuneArguments& arguments);
int run_show(const std::string& plan_directory, bool json);
/// Goes on to the next plan after one that differs or cannot be read; 1 when there was any.
int run_check(const std::vector<std::string>& plan_directories);

}  // namespace cerar::tuner
