#include "tuner/cost/pieces.h"

#include <algorithm>
#include <bit>

namespace cerar::tuner {

Pieces choose_pieces(double latency_us, double bandwidth_gbs) {
  constexpr int kLanes = 4;
  constexpr double kMargin = 2, kLeast = 65536, kMost = 4194304;
  const double in_flight = bandwidth_gbs * 1e3 * latency_us;  // bytes
  const double message = std::clamp(kMargin * in_flight / (kLanes - 1), kLeast, kMost);
  return {.lanes = kLanes, .message_bytes = std::bit_ceil(static_cast<std::uint64_t>(message))};
}

}  // namespace cerar::tuner
