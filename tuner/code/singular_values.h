#pragma once

#include <Eigen/Dense>

namespace cerar::tuner {

/// matrix = u diag(values) v^T, values descending.
struct SingularValues {
  Eigen::VectorXd values;
  Eigen::MatrixXd u, v;  ///< empty unless asked for
};

/// The only SVD of the program: its template takes a compiler a quarter of a minute.
SingularValues singular_values(const Eigen::MatrixXd& matrix, bool with_vectors = false);

}  // namespace cerar::tuner
