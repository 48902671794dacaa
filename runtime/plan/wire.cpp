#include "runtime/plan/wire.h"

#include <algorithm>
#include <cmath>

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

namespace {

// Messages of codes carry their error besides; and what sits at the end of the range is rounded and dithered.
constexpr double kCodeMargin = 1.125;

double growth_of(const Shape& shape, const PlainTables& tables) {
  const auto terms = static_cast<std::size_t>(shape.terms),
             chain_size = static_cast<std::size_t>(shape.visits) * terms;
  double growth = 1;
  for (std::size_t chain = 0; chain < tables.beta.size(); chain += chain_size) {
    std::vector<double> largest(terms);
    for (std::size_t at = 0; at < chain_size; ++at)
      largest[at % terms] = std::max(largest[at % terms], std::abs(tables.beta[chain + at]));
    double sum = 0;
    for (const double coefficient : largest) sum += coefficient;
    growth = std::max(growth, sum);
  }
  return growth;
}

// After the first revolution a rank stands in a message with its latest contribution divided by epsilon, and
// where it has been visited again since with that one as well.
double growth_of(const DifferentialTables& tables) {
  double open[3] = {}, extend[3] = {};
  for (std::size_t at = 0; at < tables.open.size(); ++at) {
    open[at % 3] = std::max(open[at % 3], std::abs(static_cast<double>(tables.open[at])));
    extend[at % 3] = std::max(extend[at % 3], std::abs(static_cast<double>(tables.extend[at])));
  }
  const double first = open[0] + open[1] + open[2], latest = extend[0] + extend[1] + extend[2];
  return std::max(first, latest / static_cast<double>(tables.epsilon)) + latest;
}

}  // namespace

double growth_of(const Shape& shape, const Tables& tables) {
  if (const auto* plain = std::get_if<PlainTables>(&tables)) return growth_of(shape, *plain);
  if (const auto* differential = std::get_if<DifferentialTables>(&tables)) return growth_of(*differential);
  return 1;
}

float message_gain(const Variant& variant, bool averages, bool divided) {
  if (variant.wire != Wire::f16 || divided) return 1;
  const double range = variant.growth * (averages ? variant.shape.workers : 1) *
                       (variant.messages == Messages::sum ? 1 : kCodeMargin);
  return std::exp2f(-std::ceil(std::log2(static_cast<float>(range))));
}

}  // namespace cerar::runtime
