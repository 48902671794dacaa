#include "tuner/code/singular_values.h"

namespace cerar::tuner {

SingularValues singular_values(const Eigen::MatrixXd& matrix, bool with_vectors) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(matrix,
                                              with_vectors ? Eigen::ComputeFullU | Eigen::ComputeFullV : 0);
  if (!with_vectors) return {svd.singularValues(), {}, {}};
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

}  // namespace cerar::tuner
