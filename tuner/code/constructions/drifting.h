#pragma once

#include <vector>

#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// The harmonic construction, for any N and c (tuner/DESIGN.md, section 5):
///
///     beta_j(t)[k] = F_a(j) epsilon^n P_n(x_t)
///
/// F the real Fourier basis on the M = N/Q chains, P_n the Legendre polynomial, x_t spread evenly over [-1,
/// 1] at the T visits. Terms are ordered by degree n, then by function a: all M functions at the degrees
/// below ceil(c/N) - 1, and at that top degree the functions of `top_functions`. Exact for c <= N, whatever
/// epsilon; else error O(epsilon) and condition O(epsilon^-(ceil(c/N) - 1)). Throws `invalid_argument` for
/// workers < 1, components < 1 or an epsilon that is not positive.
PlainCode harmonic_code(int workers, int components, double epsilon);

/// Degree n and function a of a term.
struct HarmonicTerm {
  int degree;
  int function;
};

/// The terms of the harmonic construction in their order; the last one has the top degree.
std::vector<HarmonicTerm> harmonic_terms(const runtime::Shape& shape);

/// F_function(chain): function 0 is 1; 2a-1 and 2a are sqrt(2) cos and sqrt(2) sin of 2 pi a chain / M; for
/// even M the last one, M-1, is (-1)^chain.
double fourier_basis(int chains, int function, int chain);

/// The `count` functions whose values on any `count` consecutive chains are best conditioned, ascending; one
/// function is the constant. A search over sets that hold cos and sin of a frequency together, for which all
/// runs of chains are equally well conditioned: exhaustive for few chains, local from evenly spread
/// frequencies otherwise.
std::vector<int> top_functions(int chains, int count);

/// P_0(x) .. P_degree(x).
std::vector<double> legendre(int degree, double x);

/// x_t = -1 + 2 (t-1)/(T-1), and 0 where T = 1.
double visit_position(const runtime::Shape& shape, int visit);

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
