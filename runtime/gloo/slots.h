#pragma once

#include <cstdint>

namespace cerar::runtime {

/// Gloo keeps messages between two ranks apart by slots. Data has connections of its own, see ring.h.
constexpr std::uint64_t kExchangeSlot = std::uint64_t{1} << 40;
constexpr std::uint64_t kNoticeSlot = kExchangeSlot + 1;
constexpr std::uint64_t kAcknowledgementSlot = kExchangeSlot + 2;
constexpr std::uint64_t kNothingSlot = kExchangeSlot + 3;  // never sent to: whether there is a connection

}  // namespace cerar::runtime
