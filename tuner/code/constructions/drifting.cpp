#include "tuner/code/constructions/drifting.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "tuner/code/singular_values.h"

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

namespace {

constexpr double kExhaustiveSets = 500;
constexpr int kLocalTrials = 400;

/// A set of frequencies: `singles` are functions without a partner (the constant, the alternating one),
/// `pairs` are frequencies of which cos and sin are both taken.
struct FrequencySet {
  std::vector<int> singles;
  std::vector<int> pairs;
};

std::vector<int> functions_of(const FrequencySet& set) {
  std::vector<int> functions = set.singles;
  for (int frequency : set.pairs) {
    functions.push_back(2 * frequency - 1);
    functions.push_back(2 * frequency);
  }
  std::sort(functions.begin(), functions.end());
  return functions;
}

/// Condition of the functions on the first chains, as many as there are functions. Blocks of an orthogonal
/// matrix have the same least singular value as their complement, and 1 for the largest where they are over
/// half.
double condition(int chains, const FrequencySet& set) {
  std::vector<int> functions = functions_of(set);
  const int count = static_cast<int>(functions.size());
  const bool complement = 2 * count > chains;
  if (complement) {
    std::vector<int> all(chains), others;
    std::iota(all.begin(), all.end(), 0);
    std::set_difference(all.begin(), all.end(), functions.begin(), functions.end(),
                        std::back_inserter(others));
    functions = others;
  }
  const int size = static_cast<int>(functions.size());
  Eigen::MatrixXd block(size, size);
  for (int a = 0; a < size; ++a)
    for (int j = 0; j < size; ++j)
      block(a, j) = fourier_basis(chains, functions[a], complement ? count + j : j) / std::sqrt(chains);
  const Eigen::VectorXd values = singular_values(block).values;
  if (!(values[size - 1] > 0)) return std::numeric_limits<double>::infinity();
  return (complement ? 1.0 : values[0]) / values[size - 1];
}

class Search {
 public:
  explicit Search(int chains) : chains_(chains) {}

  /// Keeps the set when it is better by more than rounding, so that ties go to the first one seen.
  bool offer(const FrequencySet& set) {
    const double value = condition(chains_, set);
    if (!best_.singles.empty() || !best_.pairs.empty())
      if (!(value < best_condition_ * (1 - 1e-9))) return false;
    best_ = set;
    best_condition_ = value;
    return true;
  }
  const FrequencySet& best() const { return best_; }

 private:
  int chains_;
  FrequencySet best_;
  double best_condition_ = std::numeric_limits<double>::infinity();
};

int pair_limit(int chains) { return (chains - 1) / 2; }

double set_count(int n, int k) {
  double count = 1;
  for (int i = 1; i <= k; ++i) count *= static_cast<double>(n - k + i) / i;
  return count;
}

void try_all(int chains, const std::vector<int>& singles, int pair_count, Search& search) {
  std::vector<int> pairs(pair_count);
  std::iota(pairs.begin(), pairs.end(), 1);
  while (true) {
    search.offer({singles, pairs});
    int at = pair_count - 1;
    while (at >= 0 && pairs[at] == pair_limit(chains) - (pair_count - 1 - at)) --at;
    if (at < 0) return;
    ++pairs[at];
    for (int next = at + 1; next < pair_count; ++next) pairs[next] = pairs[next - 1] + 1;
  }
}

/// Frequencies spread as evenly over the circle as whole numbers allow; evenly spread nodes make a
/// Vandermonde matrix with condition 1.
std::vector<int> spread_pairs(int chains, const std::vector<int>& singles, int pair_count) {
  const double step = static_cast<double>(chains) / (2 * pair_count + static_cast<int>(singles.size()));
  const bool holds_constant = !singles.empty() && singles.front() == 0;
  std::vector<bool> used(pair_limit(chains) + 1, false);
  std::vector<int> pairs;
  for (int i = 1; i <= pair_count; ++i) {
    const double wish = singles.empty()  ? (i - 0.5) * step
                        : holds_constant ? i * step
                                         : 0.5 * chains - i * step;
    int nearest = 0;
    for (int frequency = 1; frequency <= pair_limit(chains); ++frequency)
      if (!used[frequency] && (nearest == 0 || std::abs(frequency - wish) < std::abs(nearest - wish)))
        nearest = frequency;
    used[nearest] = true;
    pairs.push_back(nearest);
  }
  return pairs;
}

void try_near_spread(int chains, const std::vector<int>& singles, int pair_count, Search& search) {
  Search local(chains);
  local.offer({singles, spread_pairs(chains, singles, pair_count)});
  int trials = 0;
  for (bool improved = true; improved && trials < kLocalTrials;) {
    improved = false;
    for (int i = 0; i < pair_count; ++i)
      for (int step : {-1, 1, -2, 2}) {
        FrequencySet trial = local.best();
        const int frequency = trial.pairs[i] + step;
        if (frequency < 1 || frequency > pair_limit(chains) || trials >= kLocalTrials) continue;
        if (std::find(trial.pairs.begin(), trial.pairs.end(), frequency) != trial.pairs.end()) continue;
        trial.pairs[i] = frequency;
        ++trials;
        improved = local.offer(trial) || improved;
      }
  }
  search.offer(local.best());
}

}  // namespace

std::vector<int> top_functions(int chains, int count) {
  if (chains < 1 || count < 1 || count > chains)
    throw Error(ErrorCode::invalid_argument, "cannot choose " + std::to_string(count) + " functions on " +
                                                 std::to_string(chains) + " chains; choose 1 to that many.");
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  if (count == chains || count == 1) return all;

  std::vector<std::vector<int>> choices;
  if (count % 2 == 1) {
    choices.push_back({0});
    if (chains % 2 == 0) choices.push_back({chains - 1});
  } else {
    choices.push_back({});
    if (chains % 2 == 0) choices.push_back({0, chains - 1});
  }
  Search search(chains);
  for (const std::vector<int>& singles : choices) {
    const int pair_count = (count - static_cast<int>(singles.size())) / 2;
    if (pair_count > pair_limit(chains)) continue;
    if (set_count(pair_limit(chains), pair_count) <= kExhaustiveSets)
      try_all(chains, singles, pair_count, search);
    else
      try_near_spread(chains, singles, pair_count, search);
  }
  return functions_of(search.best());
}

PlainCode vandermonde_code(int workers, int components, double spread) {
  if (!(spread > 0 && spread < 1))
    throw Error(ErrorCode::invalid_argument, "spread of the vandermonde construction is " +
                                                 std::to_string(spread) +
                                                 "; choose a number between 0 and 1, both excluded.");
  PlainCode code = zero_code(runtime::make_shape(workers, components));
  const runtime::Shape& shape = code.shape;
  for (int k = 0; k < shape.terms; ++k) {
    const double position = shape.terms == 1 ? 0.0 : -1.0 + 2.0 * k / (shape.terms - 1);
    const double node = 1.0 + spread * position;
    for (int visit = 1; visit <= shape.visits; ++visit) {
      const double power = std::pow(node, visit - 0.5 * (1 + shape.visits));
      for (int chain = 0; chain < shape.chains; ++chain)
        code.beta[beta_index(shape, chain, visit, k)] = power;
    }
  }
  return code;
}

}  // namespace cerar::tuner
