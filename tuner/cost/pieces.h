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
/// what the latency varies. Four lanes; more only cut finer. A message costs a processor about 30 us beside
/// its bytes (measured with TCP; the README's performance section), which should be little beside its time on
/// the link; but pieces of long messages leave the caches. So messages are a power of two of at least 64 KiB,
/// on links above 0.07 GB/s 128 KiB, and at most 4 MiB.
Pieces choose_pieces(double latency_us, double bandwidth_gbs);

}  // namespace cerar::tuner
