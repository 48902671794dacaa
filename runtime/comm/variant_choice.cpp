#include "runtime/comm/variant_choice.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/elements.h"

namespace cerar::runtime {

const Variant& variant_for(const Plan& plan, std::uint64_t bytes) {
  return *std::find_if(plan.variants.begin(), plan.variants.end() - 1,
                       [&](const Variant& variant) { return bytes <= variant.max_bytes; });
}

CallClaim claim_for(const Variant& variant, const Call& call, bool copied) {
  const double rounding = result_rounding(variant.messages, variant.shape, variant.wire, call.type);
  const ErrorClaim& in_place = variant.claim;
  if (!variant.claim_apart || copied || call.send == call.receive || call.count == 0)
    return {.total = std::hypot(in_place.total, rounding), .noise = in_place.noise};
  const auto row =
      static_cast<std::uint64_t>(variant.shape.components) * static_cast<std::uint64_t>(variant.interleave);
  const double tail = static_cast<double>(call.count % row) / static_cast<double>(call.count);
  const auto both = [&](double ErrorClaim::* figure) {
    return std::hypot(std::sqrt(1 - tail) * (*variant.claim_apart).*figure,
                      std::sqrt(tail) * in_place.*figure);
  };
  return {.total = std::hypot(both(&ErrorClaim::total), rounding), .noise = both(&ErrorClaim::noise)};
}

}  // namespace cerar::runtime
