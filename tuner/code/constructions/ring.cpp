#include "tuner/code/constructions/ring.h"

#include <cmath>

namespace cerar::tuner {

runtime::ErrorClaim sum_claim(const runtime::Shape& shape, double nu) {
  const double n = shape.workers;
  const double partial = n * (n - 1) / 2, whole = shape.visits > shape.workers ? n : 0;
  runtime::ErrorClaim claim;
  claim.noise_gain = std::sqrt((partial + whole) / n);
  claim.noise = claim.total = nu * claim.noise_gain;
  return claim;
}

}  // namespace cerar::tuner
