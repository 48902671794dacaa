#pragma once

#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {

/// The exact code for c <= N: coefficients 0 and 1 that do not change with time. For c = N and every other
/// divisor of N all of them are 1 and messages are partial sums. Otherwise chain j carries row j of the M x r
/// matrix that is filled with identity matrices as Euclid's algorithm fills a rectangle with squares: any r
/// consecutive rows, counted around, have determinant +-1 ("adjacent independent rows" of Vaddi and Rajan,
/// arXiv:1705.03192), so that whole numbers come out exactly. Throws `invalid_argument` for workers < 1 and
/// for components outside 1..N.
PlainCode ring_code(int workers, int components);

/// Its tables for r >= 2; decoders are inverses, whole numbers. The claim is that of rounding alone.
PlainDesign ring_design(int workers, int components, double nu);

/// What messages that are plain sums claim on a wire that rounds by `nu`: partial sums of 1..N-1 workers, and
/// the whole one where it is passed on, which every rank keeps as it was sent.
runtime::ErrorClaim sum_claim(const runtime::Shape& shape, double nu);

}  // namespace cerar::tuner
