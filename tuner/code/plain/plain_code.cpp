#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

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
    for (int visit = 1; visit <= shape.visits; ++visit)
      for (int term = 0; term < shape.terms; ++term) {
        // Increments are rounded one by one, not against the running sum: the offset that the first rounding
        // leaves then stays constant in time, where decoding does not amplify it.
        const double before = rounded.at(chain, visit - shape.workers, term);
        double increment = code.at(chain, visit, term) - code.at(chain, visit - shape.workers, term);
        double sum = before;
        do {  // again only where double precision cannot hold the sum exactly: drop the bits it loses
          increment = static_cast<float>(increment);
          sum = before + increment;
          if (sum - before == increment) break;
          increment = sum - before;
        } while (true);
        rounded.beta[beta_index(shape, chain, visit, term)] = sum;
      }
  return rounded;
}

}  // namespace cerar::tuner
