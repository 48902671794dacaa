#include "tuner/optimise/minimise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "runtime/base/error.h"

namespace cerar::tuner {
namespace {

/// (x - 2)^2 + (y - 2)^2 with x + y <= limit.
MinimiseProblem bowl(double limit) {
  MinimiseProblem problem;
  problem.evaluate = [limit](const Eigen::VectorXd& x, Evaluation& out) {
    out.value = (x.array() - 2).square().sum();
    out.gradient = 2 * (x.array() - 2);
    out.constraints = Eigen::VectorXd::Constant(1, x.sum() - limit);
    out.jacobian = Eigen::MatrixXd::Ones(1, 2);
  };
  problem.constraints = 1;
  problem.lower = Eigen::Vector2d(-10, -10);
  problem.upper = Eigen::Vector2d(10, 10);
  return problem;
}

TEST(Minimise, StopsAtTheConstraint) {
  const MinimiseResult result = minimise(bowl(3), Eigen::Vector2d(0, -1));
  EXPECT_NEAR(result.x[0], 1.5, 1e-4);
  EXPECT_NEAR(result.x[1], 1.5, 1e-4);
  EXPECT_NEAR(result.value, 0.5, 1e-4);
  EXPECT_DOUBLE_EQ(result.start_value, 13);
  EXPECT_EQ(result.stop, StopReason::converged);
  EXPECT_STREQ(name_of(result.stop), "converged");
}

TEST(Minimise, StopsAtTheBounds) {
  MinimiseProblem problem = bowl(100);
  problem.upper = Eigen::Vector2d(1, 10);
  const MinimiseResult result = minimise(problem, Eigen::Vector2d(0, 0));
  EXPECT_NEAR(result.x[0], 1, 1e-6);
  EXPECT_NEAR(result.x[1], 2, 1e-4);
}

TEST(Minimise, SaysWhenItRanOutOfEvaluations) {
  MinimiseProblem problem;
  problem.evaluate = [](const Eigen::VectorXd& x, Evaluation& out) {  // Rosenbrock's valley
    out.value = 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
    out.gradient =
        Eigen::Vector2d(-400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0]), 200 * (x[1] - x[0] * x[0]));
  };
  problem.lower = Eigen::Vector2d(-5, -5);
  problem.upper = Eigen::Vector2d(5, 5);
  problem.max_evaluations = 5;
  const MinimiseResult cut = minimise(problem, Eigen::Vector2d(-1.2, 1));
  EXPECT_EQ(cut.stop, StopReason::max_evaluations);
  EXPECT_LE(cut.value, cut.start_value);
  problem.max_evaluations = 500;
  const MinimiseResult whole = minimise(problem, Eigen::Vector2d(-1.2, 1));
  EXPECT_LT(whole.value, 1e-6);
  EXPECT_GT(whole.evaluations, cut.evaluations);
}

TEST(Minimise, KeepsTheStartWhenTheGradientLies) {
  MinimiseProblem problem = bowl(100);
  problem.evaluate = [](const Eigen::VectorXd& x, Evaluation& out) {
    out.value = x.squaredNorm();
    out.gradient = -2 * x;
    out.constraints = Eigen::VectorXd::Constant(1, -1);
    out.jacobian = Eigen::MatrixXd::Zero(1, 2);
  };
  const MinimiseResult result = minimise(problem, Eigen::Vector2d(0.1, 0.2));
  EXPECT_LE(result.value, result.start_value);
}

TEST(Minimise, RefusesAnInfeasibleStartAndPassesExceptionsOn) {
  EXPECT_THROW(minimise(bowl(3), Eigen::Vector2d(4, 4)), Error);
  MinimiseProblem problem = bowl(3);
  int calls = 0;
  const auto inner = problem.evaluate;
  problem.evaluate = [&](const Eigen::VectorXd& x, Evaluation& out) {
    if (++calls > 2) throw std::runtime_error("third evaluation");
    inner(x, out);
  };
  EXPECT_THROW(minimise(problem, Eigen::Vector2d(0, -1)), std::runtime_error);
}

TEST(MinimiseLogScale, FindsTheMinimumOverDecades) {
  const auto valley = [](double x) { return x + 1e-8 / x; };
  const ScalarResult result = minimise_log_scale(valley, 1e-9, 10);
  EXPECT_NEAR(result.x / 1e-4, 1, 5e-3);
  EXPECT_NEAR(result.value / 2e-4, 1, 1e-5);
  EXPECT_LT(result.evaluations, 70);
  // The end of the range, and values that are not numbers.
  EXPECT_NEAR(minimise_log_scale([](double x) { return x; }, 0.5, 2).x, 0.5, 1e-3);
  EXPECT_GT(minimise_log_scale([](double x) { return x < 1 ? std::nan("") : x; }, 0.1, 10).x, 0.99);
}

}  // namespace
}  // namespace cerar::tuner
