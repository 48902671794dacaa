#pragma once

#include "runtime/plan/plan.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {

/// The code for c <= N whose coefficients are 0, 1 and -1 and do not change with time. Where c divides N all
/// of them are 1 and messages are partial sums: the ring's. Otherwise chain j carries row j of the M x r
/// matrix that is filled with identity matrices as Euclid's algorithm fills a rectangle with squares: any r
/// consecutive rows, counted around, have determinant +-1 ("adjacent independent rows" of Vaddi and Rajan,
/// arXiv:1705.03192), so that there is no approximation error. Signs alternate from column to column:
/// neighbours that are equal, as those of a constant vector are, do not add up to messages larger than
/// themselves. But messages mix r components, and what rounding loses of the largest is lost to all of them:
/// the error of an element is relative to its neighbours. Throws `invalid_argument` for workers < 1 and for
/// components outside 1..N.
PlainCode unimodular_code(int workers, int components);

/// Its tables for r >= 2; decoders are inverses, whole numbers. The claim is that of rounding alone.
PlainDesign unimodular_design(int workers, int components, runtime::Wire wire, int block);

/// The claim from the tables. Coefficients are 0 and 1 and additions that change nothing round nothing, so
/// that there is less noise than in the model of codes that drift.
runtime::ErrorClaim unimodular_claim(const runtime::Shape& shape, const runtime::PlainTables& tables,
                                     runtime::Wire wire, int block);

/// What messages that are plain sums claim on a wire that rounds by `nu`: partial sums of 1..N-1 workers, and
/// the whole one where it is passed on, which every rank keeps as it was sent.
runtime::ErrorClaim sum_claim(const runtime::Shape& shape, double nu);

}  // namespace cerar::tuner
