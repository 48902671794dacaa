#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cerar::runtime {

/// The command line of cerar-bench, as it was given.
struct Arguments {
  std::string plan, transport = "local", begin = "1M", end = "64M";
  double factor = 2;
  int iterations = 5, warmups = 1;
  std::string op = "sum", input = "normal", type = "f32";
  bool json = false;
  // Of jobs of processes.
  std::optional<int> rank, size;
  std::string store, interface_name;
  std::vector<int> devices;  ///< of the ranks of this process; empty: not given
};

}  // namespace cerar::runtime
