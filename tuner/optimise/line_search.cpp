#include "tuner/optimise/line_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerar::tuner {
namespace {

constexpr double kWidth = 1e-3;
constexpr double kFirstStep = 0.7;  // of log x
constexpr int kMostSteps = 60;

struct Point {
  double x;  // logarithms
  double value;
};

/// Vertex of the parabola through three points, the middle one lowest.
double vertex(const Point& a, const Point& b, const Point& c) {
  const double left = (b.x - a.x) * (b.value - c.value), right = (b.x - c.x) * (b.value - a.value);
  const double denominator = 2 * (left - right);
  if (denominator == 0 || !std::isfinite(denominator)) return b.x;
  return b.x - ((b.x - a.x) * left - (b.x - c.x) * right) / denominator;
}

class Search {
 public:
  Search(const std::function<double(double)>& function, double lower, double upper)
      : function_(function), lower_(std::log(lower)), upper_(std::log(upper)) {}

  ScalarResult run(double guess) {
    if (bracket(std::clamp(std::log(guess), lower_, upper_))) refine();
    return {.x = std::exp(b_.x), .value = std::exp(b_.value), .evaluations = evaluations_};
  }

 private:
  Point at(double x) {
    ++evaluations_;
    const double value = function_(std::exp(x));
    return {x, std::isfinite(value) ? std::log(value) : std::numeric_limits<double>::infinity()};
  }

  /// Sets a < b < c with b lowest; false where b is an end of the range.
  bool bracket(double start) {
    b_ = at(start);
    a_ = at(std::max(lower_, start - kFirstStep));
    c_ = at(std::min(upper_, start + kFirstStep));
    double step = kFirstStep;
    while (a_.value < b_.value && a_.x > lower_) {
      step *= 1.5;
      c_ = b_;
      b_ = a_;
      a_ = at(std::max(lower_, b_.x - step));
    }
    while (c_.value < b_.value && c_.x < upper_) {
      step *= 1.5;
      a_ = b_;
      b_ = c_;
      c_ = at(std::min(upper_, b_.x + step));
    }
    if (a_.value < b_.value) b_ = a_;
    if (c_.value < b_.value) b_ = c_;
    return b_.x > a_.x && b_.x < c_.x;
  }

  void refine() {
    for (int i = 0; i < kMostSteps && c_.x - a_.x > kWidth; ++i) {
      const bool left_is_wider = b_.x - a_.x > c_.x - b_.x;
      double x = vertex(a_, b_, c_);
      // Close to b, a probe on the wider side closes the bracket there; every third step halves that side, as
      // parabolas may creep up from one side.
      if (std::abs(x - b_.x) < 0.4 * kWidth) x = b_.x + (left_is_wider ? -0.4 : 0.4) * kWidth;
      if (i % 3 == 2 || !(x > a_.x && x < c_.x)) x = 0.5 * (b_.x + (left_is_wider ? a_.x : c_.x));
      const Point probe = at(x);
      if (probe.value < b_.value) {
        (x < b_.x ? c_ : a_) = b_;
        b_ = probe;
      } else {
        (x < b_.x ? a_ : c_) = probe;
      }
    }
  }

  const std::function<double(double)>& function_;
  double lower_, upper_;
  Point a_{}, b_{}, c_{};
  int evaluations_ = 0;
};

}  // namespace

ScalarResult minimise_near(const std::function<double(double)>& function, double guess, double lower,
                           double upper) {
  return Search(function, lower, upper).run(guess);
}

double crossing(const std::function<double(double)>& function, double above, double below, double tolerance) {
  double a = std::log(above), b = std::log(below), found = below;
  double value = function(below), weight_a = function(above), weight_b = value;
  int last = 0;
  for (int i = 0; i < kMostSteps && value < -tolerance && std::abs(b - a) > 1e-12; ++i) {
    double x = (a * weight_b - b * weight_a) / (weight_b - weight_a);
    if (!(x > std::min(a, b) && x < std::max(a, b))) x = 0.5 * (a + b);
    const double here = function(std::exp(x));
    // An end that stays twice counts half, or else it would stay for good (the Illinois rule).
    if (here > 0) {
      a = x;
      weight_a = here;
      if (last == 1) weight_b *= 0.5;
      last = 1;
    } else {
      b = x;
      found = std::exp(x);
      value = weight_b = here;
      if (last == -1) weight_a *= 0.5;
      last = -1;
    }
  }
  return found;
}

}  // namespace cerar::tuner
