#pragma once

#include "runtime/plan/plan.h"

namespace cerar::tuner {

struct DifferentialDesign {
  runtime::DifferentialTables tables;
  runtime::ErrorClaim claim;
};

/// The differential code for c = terms * workers (tuner/DESIGN.md, section 6), tables rounded to f32 and the
/// banded decoder solved for the rounded tables by least squares, noise of `nu` per hop included; one set of
/// taps serves all components up to r-3. `own_exact` leaves the worker's own part out of the least squares
/// and corrects it in the stored samples. A visit adds three components to its message, or with
/// `contributions` 2 only the larger two, which saves the kernels a line of the vector and costs terms of
/// order epsilon^2; the tables then hold zeros in their place, and claims count what is missing. Throws
/// `invalid_argument` for workers < 2, terms < 2, epsilon outside (0, 1], a negative nu or other
/// contributions.
DifferentialDesign differential_design(int workers, int terms, float epsilon, double nu, bool own_exact,
                                       int contributions = 3);

/// The claim, recomputed from tables alone; `differential_design` takes its own from here, so both agree to
/// the bit. All phases, workers and components, own-exact remainder included. The condition is that of
/// V_(p,0), for large r of its first 32 columns: the matrix is a band close to I, and its condition has long
/// converged there. Throws `invalid_plan` when the tables do not have the size that the shape asks for.
runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                             double nu);

/// The tables alone, and the claim's total alone: what a search over epsilon needs. The condition, the costly
/// part of a claim, is left out. `differential_tables` throws as `differential_design` does.
runtime::DifferentialTables differential_tables(const runtime::Shape& shape, float epsilon, double nu,
                                                bool own_exact, int contributions = 3);
double total_error(const runtime::Shape& shape, const runtime::DifferentialTables& tables, double nu);

}  // namespace cerar::tuner
