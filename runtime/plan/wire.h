#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// How one type of message is stored. The kernels' conversions are in templates/wire/<name>.h.
struct WireFormat {
  Wire wire;
  int bits;         ///< of an element
  int significand;  ///< bits, of floating point; 0 for block fixed point
};

/// All of them, in the order of `Wire`.
std::span<const WireFormat> wire_formats();
const WireFormat& format_of(Wire wire);

/// Blocks of integers that share an f32 scale.
inline bool is_block_wire(Wire wire) { return format_of(wire).significand == 0; }

/// Bytes of a message of `elements` elements: those of a class's rows, and where `padded` those of the padded
/// row behind them, which has blocks of its own.
std::uint64_t message_bytes(const Variant& variant, std::uint64_t elements, bool padded);

/// Bytes per element of long messages: 2 + 4/128 for fx16 in blocks of 128.
double bytes_per_element(Wire wire, int block);

/// How far messages outgrow results: the sum over components of the largest coefficient, in magnitude, with
/// which a rank stands in any message. 1 for partial sums. Where each component's sum of magnitudes over
/// ranks is at most x, no message exceeds growth * x, but for the code's error.
double growth_of(const Shape& shape, const Tables& tables);

/// The power of two that elements of messages of f16 are multiplied by, so that no message overflows where no
/// result does: where a sum of magnitudes stays below 64000, and for averages where each element does, until
/// the sum is divided (`divided`). 1 for other messages.
float message_gain(const Variant& variant, bool averages, bool divided);

}  // namespace cerar::runtime
