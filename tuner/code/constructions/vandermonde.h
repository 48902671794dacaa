#pragma once

#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// The published explicit construction: all chains alike,
///
///     beta_j(t)[k] = z_k^(t - t_mid),   z_k = 1 + spread x_k,   t_mid = (1 + T)/2,
///
/// with the r real nodes x_k spread evenly over [-1, 1] (0 where r = 1: the exact sum). For Q = 1 it mixes
/// all c components, as published; for Q > 1 it is the same construction inside each class.
///
/// Only the drift tells the r samples of a class apart, also where there are several chains: the error falls
/// like spread, the condition grows like spread^-(r-1), that is c-1 for Q = 1. `harmonic_code` needs the
/// power ceil(c/N) - 1 alone.
///
/// Powers are taken from the middle visit on. A factor per component would change neither what is exact nor
/// the two slopes; but from the first visit on, the largest node's component would fill the messages at the
/// end, with the others below its rounding noise, and the condition would grow by the ratio of the factors.
///
/// Throws `invalid_argument` for workers < 1, components < 1 and a spread outside (0, 1): a node at 0 or
/// below has no real powers about the middle.
PlainCode vandermonde_code(int workers, int components, double spread);

}  // namespace cerar::tuner
