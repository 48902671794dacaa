#pragma once

#include <cstdint>

namespace cerar::tuner {

/// How a vector is cut so that the link stays full.
struct Pieces {
  int lanes = 1;                        ///< pieces under way at once
  std::uint64_t message_bytes = 65536;  ///< preferred size of their messages
};

/// While one lane's message waits out a round's latency (it is received, combined and sent on), those of the
/// other lanes must fill the link: (lanes - 1) message_bytes >= bandwidth x latency, with a factor of 2 for
/// what the latency varies. Four lanes; more only cut finer. Messages are a power of two, at least 64 KiB,
/// below which the cost of each one shows on Ethernet, and at most 4 MiB.
Pieces choose_pieces(double latency_us, double bandwidth_gbs);

}  // namespace cerar::tuner
