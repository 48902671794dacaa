#include "tuner/optimise/code_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/code/constructions/harmonic.h"
#include "tuner/code/singular_values.h"

namespace cerar::tuner {
namespace {

constexpr int kExtraDegrees = 5;

/// V at age tau = t_0 - delta: columns tau + s N, s = 0..r-1. It depends on the difference alone, so phases
/// share it.
auto aged(const Eigen::MatrixXd& beta, int tau, int workers, int terms) {
  return beta(Eigen::all, Eigen::seqN(tau - 1, terms, workers));
}

int first_sample_time(int workers, int phase) { return workers + phase; }

}  // namespace

CodeProblem::CodeProblem(const runtime::Shape& shape, double epsilon, double nu, double log_condition_limit,
                         bool own_exact)
    : shape_(shape),
      nu_(nu),
      log_condition_limit_(log_condition_limit),
      own_exact_(own_exact),
      degrees_(std::min(shape.terms + kExtraDegrees, shape.visits - 1) + 1),
      scale_(shape.terms, degrees_),
      legendre_(degrees_, shape.visits) {
  for (int k = 0; k < shape.terms; ++k)
    for (int n = 0; n < degrees_; ++n) scale_(k, n) = std::pow(epsilon, std::max(k, n));
  for (int visit = 1; visit <= shape.visits; ++visit) {
    const std::vector<double> values = legendre(degrees_ - 1, visit_position(shape, visit));
    for (int n = 0; n < degrees_; ++n) legendre_(n, visit - 1) = values[n];
  }
}

int CodeProblem::constraints() const { return std::isfinite(log_condition_limit_) ? shape_.workers : 0; }

Eigen::VectorXd CodeProblem::harmonic_start() const {
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(shape_.terms, degrees_);
  x.diagonal().setOnes();
  return x.reshaped();
}

PlainCode CodeProblem::code_of(const Eigen::VectorXd& x) const {
  PlainCode code = zero_code(shape_);
  // One chain: [visits][terms] row-major is the r x T matrix column by column.
  Eigen::Map<Eigen::MatrixXd>(code.beta.data(), shape_.terms, shape_.visits) = beta_of(x);
  return code;
}

void CodeProblem::evaluate(const Eigen::VectorXd& x, Evaluation& out) const {
  const int workers = shape_.workers, terms = shape_.terms;
  const Eigen::MatrixXd beta = beta_of(x);
  Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(terms, shape_.visits);
  Eigen::VectorXd hop_weights = Eigen::VectorXd::Zero(shape_.visits);  // d error / d |beta(h)|^2
  double error = 0;
  for (int p = 0; p < workers; ++p) error += phase_error(beta, p, gradient, hop_weights);
  gradient += 2 * beta * hop_weights.asDiagonal();

  out.value = 0.5 * std::log(error / (static_cast<double>(workers) * workers * terms));
  out.gradient = pull_back(gradient) * (0.5 / error);
  out.constraints.resize(constraints());
  out.jacobian.resize(constraints(), variables());
  for (int p = 0; p < constraints(); ++p) {
    const int tau = first_sample_time(workers, p);
    const Eigen::MatrixXd v = aged(beta, tau, workers, terms);
    const SingularValues svd = singular_values(v, true);
    const Eigen::VectorXd& values = svd.values;
    const double least = std::max(values[terms - 1], std::numeric_limits<double>::min());
    out.constraints[p] = std::log(values[0]) - std::log(least) - log_condition_limit_;
    Eigen::MatrixXd slope = Eigen::MatrixXd::Zero(terms, shape_.visits);
    slope(Eigen::all, Eigen::seqN(tau - 1, terms, workers)) =
        svd.u.col(0) * svd.v.col(0).transpose() / values[0] -
        svd.u.col(terms - 1) * svd.v.col(terms - 1).transpose() / least;
    out.jacobian.row(p) = pull_back(slope).transpose();
  }
}

Eigen::MatrixXd CodeProblem::beta_of(const Eigen::VectorXd& x) const {
  return x.reshaped(shape_.terms, degrees_).cwiseProduct(scale_) * legendre_;
}

Eigen::VectorXd CodeProblem::pull_back(const Eigen::MatrixXd& beta_gradient) const {
  return (beta_gradient * legendre_.transpose()).cwiseProduct(scale_).reshaped();
}

double CodeProblem::phase_error(const Eigen::MatrixXd& beta, int phase, Eigen::MatrixXd& gradient,
                                Eigen::VectorXd& hop_weights) const {
  const int workers = shape_.workers, terms = shape_.terms;
  const int newest = first_sample_time(workers, phase);
  const int first_delta = own_exact_ ? 1 : 0, count = workers - first_delta;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero((count + 1) * terms, terms);
  Eigen::MatrixXd wanted = Eigen::MatrixXd::Zero((count + 1) * terms, terms);
  for (int i = 0; i < count; ++i) {
    system.middleRows(i * terms, terms) = aged(beta, newest - first_delta - i, workers, terms);
    wanted.middleRows(i * terms, terms).diagonal().setOnes();
  }
  for (int s = 0; s < terms; ++s) {
    double variance = 0;
    for (int hop = s == 0 ? 1 : newest + (s - 1) * workers; hop < newest + s * workers; ++hop)
      variance += std::min(hop, workers) * beta.col(hop - 1).squaredNorm();
    system.row(count * terms + s).tail(terms - s).setConstant(nu_ * std::sqrt(variance));
  }
  const Eigen::MatrixXd decoder = system.householderQr().solve(wanted);
  const Eigen::MatrixXd residual = system * decoder - wanted;

  for (int i = 0; i < count; ++i)
    gradient(Eigen::all, Eigen::seqN(newest - first_delta - i - 1, terms, workers)) +=
        2 * residual.middleRows(i * terms, terms) * decoder.transpose();
  Eigen::RowVectorXd tail = Eigen::RowVectorXd::Zero(terms);
  for (int s = terms - 1; s >= 0; --s) {
    tail += decoder.row(s);
    for (int hop = s == 0 ? 1 : newest + (s - 1) * workers; hop < newest + s * workers; ++hop)
      hop_weights[hop - 1] += nu_ * nu_ * std::min(hop, workers) * tail.squaredNorm();
  }
  return residual.squaredNorm();
}

}  // namespace cerar::tuner
