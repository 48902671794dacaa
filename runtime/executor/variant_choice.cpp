#include "runtime/executor/variant_choice.h"

#include <algorithm>

namespace cerar::runtime {

const Variant& variant_for(const Plan& plan, std::uint64_t bytes) {
  return *std::find_if(plan.variants.begin(), plan.variants.end() - 1,
                       [&](const Variant& variant) { return bytes <= variant.max_bytes; });
}

}  // namespace cerar::runtime
