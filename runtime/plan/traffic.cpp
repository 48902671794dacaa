#include "runtime/plan/traffic.h"

#include <algorithm>

namespace cerar::runtime {

int vector_lines(const Step& step, const Shape& shape) {
  const int terms = shape.terms;
  const int missing = step.phase == 0 ? 0 : 1;  // of two components from sample + missing on
  const int components = std::clamp(terms - step.sample - missing, 0, 2);
  const bool raises = step.phase == 0 && step.sample > 0;
  switch (step.role) {
    case Role::begin:
      return 1;
    case Role::relay:
      return 1;
    case Role::settle:
      return 2;
    case Role::keep:
      return 1;
    case Role::encode:  // and the symbols that leave before the first sample
      return 2 * terms + std::max(0, -step.sample - 1);
    case Role::accumulate:
      return 2;
    case Role::decode:
      return 2 * terms;
    case Role::open:
      return 2;
    case Role::visit:
      return components + 1 + (raises ? 1 : 0);
    case Role::close:
      return components + (raises ? 1 : 0) + 2 * terms - 1;
    case Role::widen:
    case Role::narrow:
      break;  // no visits
  }
  return 0;
}

}  // namespace cerar::runtime
