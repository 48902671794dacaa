#include "tuner/code/plain/plain_code.h"

#include <algorithm>
#include <cmath>

namespace cerar::tuner {
namespace {

/// Multiples of it add up exactly in double precision to anything that a coefficient can become: twice its
/// largest value leaves room for the roundings of increments.
double sum_unit(const PlainCode& code, int chain, int term) {
  double most = 0;
  for (int visit = 1; visit <= code.shape.visits; ++visit)
    most = std::max(most, std::abs(code.at(chain, visit, term)));
  return most > 0 ? std::ldexp(1.0, std::ilogb(most) - 51) : 1.0;
}

}  // namespace

double PlainCode::at(int chain, int visit, int term) const {
  return visit <= 0 ? 0.0 : beta[beta_index(shape, chain, visit, term)];
}

PlainCode zero_code(const runtime::Shape& shape) {
  const std::size_t size = static_cast<std::size_t>(shape.chains) * shape.visits * shape.terms;
  return {.shape = shape, .beta = std::vector<double>(size, 0.0)};
}

std::size_t beta_index(const runtime::Shape& shape, int chain, int visit, int term) {
  return (static_cast<std::size_t>(chain) * shape.visits + (visit - 1)) * shape.terms + term;
}

PlainCode with_f32_increments(const PlainCode& code) {
  const runtime::Shape& shape = code.shape;
  PlainCode rounded = zero_code(shape);
  for (int chain = 0; chain < shape.chains; ++chain)
    for (int term = 0; term < shape.terms; ++term) {
      const double unit = sum_unit(code, chain, term);
      for (int visit = 1; visit <= shape.visits; ++visit) {
        // Increments are rounded one by one, not against the running sum: the offset that the first rounding
        // leaves then stays constant in time, where decoding does not amplify it.
        const double wanted = code.at(chain, visit, term) - code.at(chain, visit - shape.workers, term);
        const double increment = std::nearbyint(static_cast<float>(wanted) / unit) * unit;
        rounded.beta[beta_index(shape, chain, visit, term)] =
            rounded.at(chain, visit - shape.workers, term) + increment;
      }
    }
  return rounded;
}

}  // namespace cerar::tuner
