#include "tuner/cost/pieces.h"

#include <algorithm>
#include <bit>

namespace cerar::tuner {

Pieces choose_pieces(double latency_us, double bandwidth_gbs) {
  constexpr int kLanes = 4;
  constexpr double kMargin = 2, kMost = 4194304;
  constexpr double kMessageUs = 30, kShare = 32;  // what a message costs, and how much longer it should last
  const double bytes_per_us = bandwidth_gbs * 1e3;
  const double least = std::clamp(kShare * kMessageUs * bytes_per_us, 65536.0, 131072.0);
  const double message = std::clamp(kMargin * bytes_per_us * latency_us / (kLanes - 1), least, kMost);
  return {.lanes = kLanes, .message_bytes = std::bit_ceil(static_cast<std::uint64_t>(message))};
}

Pieces choose_device_pieces() { return {.lanes = 2, .message_bytes = 4194304}; }

}  // namespace cerar::tuner
