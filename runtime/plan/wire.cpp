#include "runtime/plan/wire.h"

#include <algorithm>

namespace cerar::runtime {
namespace {

constexpr WireFormat kFormats[] = {
    {Wire::f32, 32, 24}, {Wire::bf16, 16, 8}, {Wire::f16, 16, 11},
    {Wire::fx16, 16, 0}, {Wire::fx12, 12, 0}, {Wire::fx8, 8, 0},
};

// The same as cerar_part_bytes of the kernels.
std::uint64_t part_bytes(const Variant& variant, std::uint64_t elements) {
  const auto integers = elements * static_cast<std::uint64_t>(format_of(variant.wire).bits) / 8;
  if (!is_block_wire(variant.wire)) return integers;
  const auto block = static_cast<std::uint64_t>(variant.block);
  return (integers + (elements + block - 1) / block * sizeof(float) + 15) / 16 * 16;
}

}  // namespace

std::span<const WireFormat> wire_formats() { return kFormats; }

const WireFormat& format_of(Wire wire) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const auto& f) { return f.wire == wire; });
}

std::uint64_t message_bytes(const Variant& variant, std::uint64_t elements, bool padded) {
  return part_bytes(variant, elements) +
         (padded ? part_bytes(variant, static_cast<std::uint64_t>(variant.interleave)) : 0);
}

double bytes_per_element(Wire wire, int block) {
  const double own = format_of(wire).bits / 8.0;
  return is_block_wire(wire) ? own + 4.0 / block : own;
}

}  // namespace cerar::runtime
