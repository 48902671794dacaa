#pragma once

#include <cstdint>

namespace cerar::tuner {

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
