#include "tuner/code/constructions/ring.h"

#include <algorithm>

namespace cerar::tuner {

PlainCode ring_code(int workers) {
  PlainCode code = zero_code(runtime::make_shape(workers, workers));
  std::fill(code.beta.begin(), code.beta.end(), 1.0);
  return code;
}

}  // namespace cerar::tuner
