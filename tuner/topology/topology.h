#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cerar::tuner {

/// Name and text of each file in configs/topologies as it was when this library was built, ascending by name.
const std::vector<std::pair<std::string_view, std::string_view>>& builtin_topologies();

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

/// How a vector is cut so that the link stays full.
struct Pieces {
  int lanes = 1;                        ///< pieces under way at once
  std::uint64_t message_bytes = 65536;  ///< preferred size of their messages
};

/// Between hosts. While one lane's message waits out a round's latency (it is received, combined and sent
/// on), those of the other lanes must fill the link: (lanes - 1) message_bytes >= bandwidth x latency, with a
/// factor of 2 for what the latency varies. Four lanes; more only cut finer. A message costs a processor
/// about 30 us beside its bytes (measured with TCP; tests/bench/RESULTS.md), which should be little
/// beside its time on the link; but pieces of long messages leave the caches. So messages are a power of two
/// of at least 64 KiB, on links above 0.07 GB/s 128 KiB, and at most 4 MiB.
Pieces choose_pieces(double latency_us, double bandwidth_gbs);

/// Between GPUs. NCCL runs the groups of one communicator one after the other, whatever streams they are on
/// (NVIDIA/nccl 2.28.9, src/enqueue.cc: each launch waits for the one before it), so no lane's message fills
/// the link while another's waits out its latency. All that lanes hide there are kernels, under the transfer
/// of the other lane: two do that, and more only add launches. Messages are long, 4 MiB, for the same reason.
Pieces choose_device_pieces();

}  // namespace cerar::tuner
