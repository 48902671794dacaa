#include "tuner/code/constructions/harmonic.h"

#include <cmath>
#include <numbers>
#include <string>

#include "runtime/base/error.h"

namespace cerar::tuner {

PlainCode harmonic_code(int workers, int components, double epsilon) {
  if (!(epsilon > 0) || !std::isfinite(epsilon))
    throw Error(ErrorCode::invalid_argument, "epsilon of the harmonic construction is " +
                                                 std::to_string(epsilon) + "; choose a positive number.");
  PlainCode code = zero_code(runtime::make_shape(workers, components));
  const runtime::Shape& shape = code.shape;
  const std::vector<HarmonicTerm> terms = harmonic_terms(shape);
  const int top_degree = terms.back().degree;

  for (int visit = 1; visit <= shape.visits; ++visit) {
    const std::vector<double> drift = legendre(top_degree, visit_position(shape, visit));
    for (int chain = 0; chain < shape.chains; ++chain)
      for (int k = 0; k < shape.terms; ++k) {
        const auto [degree, function] = terms[k];
        code.beta[beta_index(shape, chain, visit, k)] =
            fourier_basis(shape.chains, function, chain) * std::pow(epsilon, degree) * drift[degree];
      }
  }
  return code;
}

std::vector<HarmonicTerm> harmonic_terms(const runtime::Shape& shape) {
  const int top_degree = (shape.terms + shape.chains - 1) / shape.chains - 1;
  std::vector<HarmonicTerm> terms;
  for (int degree = 0; degree < top_degree; ++degree)
    for (int function = 0; function < shape.chains; ++function) terms.push_back({degree, function});
  for (int function : top_functions(shape.chains, shape.terms - top_degree * shape.chains))
    terms.push_back({top_degree, function});
  return terms;
}

double fourier_basis(int chains, int function, int chain) {
  if (function == 0) return 1.0;
  const int frequency = (function + 1) / 2;
  if (2 * frequency == chains) return chain % 2 == 0 ? 1.0 : -1.0;
  // Reducing the product first keeps the value the same for every turn of the chains.
  const double angle = 2.0 * std::numbers::pi * ((frequency * chain) % chains) / chains;
  return std::numbers::sqrt2 * (function % 2 == 1 ? std::cos(angle) : std::sin(angle));
}

std::vector<double> legendre(int degree, double x) {
  std::vector<double> p(degree + 1, 1.0);
  if (degree >= 1) p[1] = x;
  for (int n = 1; n < degree; ++n) p[n + 1] = ((2 * n + 1) * x * p[n] - n * p[n - 1]) / (n + 1);
  return p;
}

double visit_position(const runtime::Shape& shape, int visit) {
  return shape.visits == 1 ? 0.0 : -1.0 + 2.0 * (visit - 1) / (shape.visits - 1);
}

}  // namespace cerar::tuner
