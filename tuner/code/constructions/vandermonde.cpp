#include "tuner/code/constructions/vandermonde.h"

#include <cmath>
#include <string>

#include "runtime/base/error.h"

namespace cerar::tuner {

PlainCode vandermonde_code(int workers, int components, double spread) {
  if (!(spread > 0 && spread < 1))
    throw Error(ErrorCode::invalid_argument, "spread of the vandermonde construction is " +
                                                 std::to_string(spread) +
                                                 "; choose a number between 0 and 1, both excluded.");
  PlainCode code = zero_code(runtime::make_shape(workers, components));
  const runtime::Shape& shape = code.shape;
  for (int k = 0; k < shape.terms; ++k) {
    const double position = shape.terms == 1 ? 0.0 : -1.0 + 2.0 * k / (shape.terms - 1);
    const double node = 1.0 + spread * position;
    for (int visit = 1; visit <= shape.visits; ++visit) {
      const double power = std::pow(node, visit - 0.5 * (1 + shape.visits));
      for (int chain = 0; chain < shape.chains; ++chain)
        code.beta[beta_index(shape, chain, visit, k)] = power;
    }
  }
  return code;
}

}  // namespace cerar::tuner
