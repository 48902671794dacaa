#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cerar::tuner {

/// The all-reduce that users of a topology have today; predictions are compared with it.
struct Baseline {
  std::string name;          ///< "NCCL ring"
  double base_us = 0;        ///< per call
  double hop_us = 0;         ///< per step, of which a ring has 2(N-1)
  double bandwidth_gbs = 0;  ///< bus bandwidth: 2(N-1)/N bytes per byte of the vector move at this rate
};

/// What the cost model knows of a machine. GB are 1e9 bytes.
struct Topology {
  std::string name;
  std::string title;
  int workers = 2;
  double latency_us = 0;                ///< of one round: kernel start, send and receive of a short message
  double bandwidth_gbs = 0;             ///< to the next rank, while as much comes from the previous one
  double memory_bandwidth_gbs = 0;      ///< reads and writes together, of the memory the vector lives in
  int lanes = 1;                        ///< pieces of a vector that are under way at once
  std::uint64_t message_bytes = 65536;  ///< preferred size of a message of one piece
  std::optional<Baseline> baseline;     ///< none: the exact ring of CERAR itself
  std::vector<std::string> architectures;  ///< of its GPUs, "sm_80"; empty for hosts
  std::string fingerprint;                 ///< SHA-256 of the file
};

/// Names of the topologies in configs/topologies, ascending.
std::vector<std::string> topology_names();

/// `name_or_file`: a name from configs/topologies, or a path. Throws `invalid_argument` listing the known
/// names, or `invalid_plan` naming file, line and key.
Topology load_topology(const std::string& name_or_file);

/// Parses the text of a topology file; `file` is used in messages.
Topology parse_topology(const std::string& text, const std::string& file);

}  // namespace cerar::tuner
