#pragma once

#include <Eigen/Dense>
#include <vector>

#include "tuner/code/plain/plain_code.h"

namespace cerar::tuner {

/// V_(p,delta) of a plain code, r x r, [term][sample]: how the worker `delta` places back stands in the
/// samples that phase p takes, in order of time. tuner/DESIGN.md, section 2.
Eigen::MatrixXd mixing_matrix(const PlainCode& code, int phase, int delta);

/// Equal mixing matrices of neighbouring delta are one entry; for an exact code all of them are.
struct RepeatedMixing {
  Eigen::MatrixXd matrix;
  int count = 1;
};
std::vector<RepeatedMixing> mixing_matrices(const PlainCode& code, int phase, int first_delta);

/// R with R^T R = K_p for nu = 1 (tuner/DESIGN.md, section 4), r columns (samples). Exact: a row is one run
/// of hops between two sample times of a chain, weighted by the root of their variance and spread over the
/// samples that come later.
Eigen::MatrixXd noise_root(const PlainCode& code, int phase);

/// Ratio of the largest to the least singular value; infinity where the latter is 0.
double condition_number(const Eigen::MatrixXd& matrix);

}  // namespace cerar::tuner
