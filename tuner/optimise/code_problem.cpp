#include "tuner/optimise/code_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/code/singular_values.h"

namespace cerar::tuner {
namespace {

constexpr int kExtraDegrees = 5;

/// Of the phases 0..Q-1.
int first_sample_time(const runtime::Shape& shape, int phase) { return shape.workers + phase; }

}  // namespace

CodeProblem::CodeProblem(const runtime::Shape& shape, double epsilon, double nu, double log_condition_limit,
                         bool own_exact)
    : shape_(shape),
      nu_(nu),
      log_condition_limit_(log_condition_limit),
      own_exact_(own_exact),
      terms_(harmonic_terms(shape)),
      levels_(terms_.back().degree + 1),
      degrees_(std::min(levels_ + kExtraDegrees, shape.visits - 1) + 1),
      scale_(levels_, degrees_),
      legendre_(degrees_, shape.visits),
      weight_(Eigen::VectorXd::Zero(levels_)) {
  for (int n = 0; n < levels_; ++n)
    for (int m = 0; m < degrees_; ++m) scale_(n, m) = std::pow(epsilon, std::max(n, m));
  for (int visit = 1; visit <= shape.visits; ++visit) {
    const std::vector<double> values = legendre(degrees_ - 1, visit_position(shape, visit));
    for (int m = 0; m < degrees_; ++m) legendre_(m, visit - 1) = values[m];
  }
  // Functions come with their partners, so the squares of a degree's functions add up to their number on
  // every chain.
  for (const HarmonicTerm& term : terms_) weight_[term.degree] += 1;
  weight_ = weight_.cwiseSqrt().eval();
  for (int p = 0; p < shape.classes; ++p) {
    Eigen::MatrixXd waves(shape.terms, shape.terms);
    for (int s = 0; s < shape.terms; ++s) {
      const int chain = runtime::chain_at(shape, p, first_sample_time(shape, p) + s * shape.classes);
      for (int k = 0; k < shape.terms; ++k)
        waves(k, s) = fourier_basis(shape.chains, terms_[k].function, chain);
    }
    waves_.push_back(std::move(waves));
  }
}

int CodeProblem::constraints() const { return std::isfinite(log_condition_limit_) ? shape_.classes : 0; }

Eigen::VectorXd CodeProblem::harmonic_start() const {
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(levels_, degrees_);
  x.diagonal().setOnes();
  return x.reshaped();
}

PlainCode CodeProblem::code_of(const Eigen::VectorXd& x) const {
  PlainCode code = zero_code(shape_);
  const Eigen::MatrixXd drift = drift_of(x);
  for (int chain = 0; chain < shape_.chains; ++chain)
    for (int k = 0; k < shape_.terms; ++k) {
      const double wave = fourier_basis(shape_.chains, terms_[k].function, chain);
      for (int visit = 1; visit <= shape_.visits; ++visit)
        code.beta[beta_index(shape_, chain, visit, k)] = wave * drift(terms_[k].degree, visit - 1);
    }
  return code;
}

void CodeProblem::evaluate(const Eigen::VectorXd& x, Evaluation& out) const {
  const int phases = shape_.classes, terms = shape_.terms;
  const Eigen::MatrixXd drift = drift_of(x);
  Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(levels_, shape_.visits);
  Eigen::VectorXd hop_weights = Eigen::VectorXd::Zero(shape_.visits);  // d error / d |beta(h)|^2
  double error = 0;
  for (int p = 0; p < phases; ++p) error += phase_error(drift, p, gradient, hop_weights);
  gradient += 2 * weight_.cwiseAbs2().asDiagonal() * drift * hop_weights.asDiagonal();

  out.value = 0.5 * std::log(error / (static_cast<double>(phases) * shape_.workers * terms));
  out.gradient = pull_back(gradient) * (0.5 / error);
  out.constraints.resize(constraints());
  out.jacobian.resize(constraints(), variables());
  for (int p = 0; p < constraints(); ++p) {
    const int tau = first_sample_time(shape_, p);
    const SingularValues svd = singular_values(mixing(drift, p, tau), true);
    const Eigen::VectorXd& values = svd.values;
    const double least = std::max(values[terms - 1], std::numeric_limits<double>::min());
    out.constraints[p] = std::log(values[0]) - std::log(least) - log_condition_limit_;
    Eigen::MatrixXd slope = Eigen::MatrixXd::Zero(levels_, shape_.visits);
    add_slope(svd.u.col(0) * svd.v.col(0).transpose() / values[0] -
                  svd.u.col(terms - 1) * svd.v.col(terms - 1).transpose() / least,
              p, tau, slope);
    out.jacobian.row(p) = pull_back(slope).transpose();
  }
}

Eigen::MatrixXd CodeProblem::drift_of(const Eigen::VectorXd& x) const {
  return x.reshaped(levels_, degrees_).cwiseProduct(scale_) * legendre_;
}

Eigen::VectorXd CodeProblem::pull_back(const Eigen::MatrixXd& drift_gradient) const {
  return (drift_gradient * legendre_.transpose()).cwiseProduct(scale_).reshaped();
}

Eigen::MatrixXd CodeProblem::mixing(const Eigen::MatrixXd& drift, int phase, int tau) const {
  Eigen::MatrixXd v = waves_[phase];
  for (int s = 0; s < shape_.terms; ++s)
    for (int k = 0; k < shape_.terms; ++k) v(k, s) *= drift(terms_[k].degree, tau - 1 + s * shape_.classes);
  return v;
}

void CodeProblem::add_slope(const Eigen::MatrixXd& slope, int phase, int tau,
                            Eigen::MatrixXd& gradient) const {
  for (int s = 0; s < shape_.terms; ++s)
    for (int k = 0; k < shape_.terms; ++k)
      gradient(terms_[k].degree, tau - 1 + s * shape_.classes) += waves_[phase](k, s) * slope(k, s);
}

double CodeProblem::phase_error(const Eigen::MatrixXd& drift, int phase, Eigen::MatrixXd& gradient,
                                Eigen::VectorXd& hop_weights) const {
  const int workers = shape_.workers, terms = shape_.terms, chains = shape_.chains;
  const int newest = first_sample_time(shape_, phase);
  const int first_delta = own_exact_ ? 1 : 0, count = workers - first_delta;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero((count + 1) * terms, terms);
  Eigen::MatrixXd wanted = Eigen::MatrixXd::Zero((count + 1) * terms, terms);
  for (int i = 0; i < count; ++i) {
    system.middleRows(i * terms, terms) = mixing(drift, phase, newest - first_delta - i);
    wanted.middleRows(i * terms, terms).diagonal().setOnes();
  }
  // The hops that sample s holds beyond the earlier ones of its chain.
  const auto last_hop = [&](int s) { return newest + s * shape_.classes - 1; };
  const auto first_hop = [&](int s) { return s < chains ? 1 : last_hop(s) + 1 - workers; };
  const Eigen::VectorXd squares = (weight_.asDiagonal() * drift).colwise().squaredNorm();
  for (int s = 0; s < terms; ++s) {
    double variance = 0;
    for (int hop = first_hop(s); hop <= last_hop(s); ++hop)
      variance += std::min(hop, workers) * squares[hop - 1];
    for (int later = s; later < terms; later += chains)
      system(count * terms + s, later) = nu_ * std::sqrt(variance);
  }
  const Eigen::MatrixXd decoder = system.householderQr().solve(wanted);
  const Eigen::MatrixXd residual = system * decoder - wanted;

  for (int i = 0; i < count; ++i)
    add_slope(2 * residual.middleRows(i * terms, terms) * decoder.transpose(), phase,
              newest - first_delta - i, gradient);
  for (int s = terms - 1; s >= 0; --s) {
    Eigen::RowVectorXd tail = Eigen::RowVectorXd::Zero(terms);
    for (int later = s; later < terms; later += chains) tail += decoder.row(later);
    for (int hop = first_hop(s); hop <= last_hop(s); ++hop)
      hop_weights[hop - 1] += nu_ * nu_ * std::min(hop, workers) * tail.squaredNorm();
  }
  return residual.squaredNorm();
}

}  // namespace cerar::tuner
