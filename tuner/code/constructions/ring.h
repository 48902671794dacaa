#pragma once

#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// The ordinary ring as a code: c = N, one term, beta = 1; exact. Throws `invalid_argument` for workers < 1.
PlainCode ring_code(int workers);

}  // namespace cerar::tuner
