#include "tuner/code/differential/differential.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "tuner/code/differential/band.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_code.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::tuner {
namespace {

constexpr int kConditionColumns = 32;

void require_size(const char* table, std::size_t size, int expected) {
  if (size != static_cast<std::size_t>(expected))
    throw Error(ErrorCode::invalid_plan, std::string("table ") + table + " has " + std::to_string(size) +
                                             " numbers instead of " + std::to_string(expected) +
                                             "; generate the plan again with cerar-tune.");
}

void require_tables(const runtime::Shape& shape, const runtime::DifferentialTables& tables) {
  if (shape.chains != 1 || shape.workers < 2 || shape.terms < 2)
    throw Error(ErrorCode::invalid_plan,
                "a differential code has " + std::to_string(shape.components) + " components for " +
                    std::to_string(shape.workers) +
                    " workers; it needs a multiple of them, at least twice as many.");
  if (!(tables.epsilon > 0 && tables.epsilon <= 1))
    throw Error(ErrorCode::invalid_plan, "epsilon is " + std::to_string(tables.epsilon) +
                                             "; it must lie between 0 and 1, so generate the plan again.");
  require_size("open", tables.open.size(), 3 * shape.workers);
  require_size("extend", tables.extend.size(), 3 * shape.workers);
  require_size("own", tables.own.size(), 4 * shape.workers);
  require_size("decode", tables.decode.size(), 9 * shape.workers);
}

/// C(z, n)
double binomial(double z, int n) {
  double product = 1;
  for (int i = 0; i < n; ++i) product *= (z - i) / (i + 1);
  return product;
}

/// Least-squares taps for one row of the decoder: all components that use it, each weighted by how many it
/// stands for.
Eigen::VectorXd solve_taps(const runtime::Shape& shape, const DifferentialBand& band, int phase, int row,
                           double nu, bool own_exact) {
  const int taps = 3 - row, reach = taps - 1 + DifferentialBand::kWidth;
  const int first_delta = own_exact ? 1 : 0;
  std::vector<ComponentGroup> served;
  for (const ComponentGroup& group : component_groups(shape.terms))
    if (decode_row(shape.terms, group.component) == row) served.push_back(group);

  const int signal_rows = (shape.workers - first_delta) * reach, noise_rows = 2 * taps;
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(served.size() * (signal_rows + noise_rows), taps);
  Eigen::VectorXd wanted = Eigen::VectorXd::Zero(system.rows());
  int at = 0;
  for (const ComponentGroup& group : served) {
    const double weight = std::sqrt(group.count);
    for (int delta = first_delta; delta < shape.workers; ++delta, at += reach) {
      for (int tap = 0; tap < taps; ++tap) {
        const auto v = band.column(phase, delta, group.component + tap);
        for (int i = 0; i < DifferentialBand::kWidth; ++i) system(at + tap + i, tap) = weight * v[i];
      }
      wanted[at] = weight;
    }
    system.middleRows(at, noise_rows) = weight * nu * band.noise_root(phase, group.component, taps);
    at += noise_rows;
  }
  return system.householderQr().solve(wanted);
}

/// O = D^-1 - V_(p,0) off the diagonal, for a row of taps (d0, d1, d2) that the rows below it share (`next`
/// is the d0 of the component after).
void solve_own(const runtime::Shape& shape, const DifferentialBand& band, int phase,
               runtime::DifferentialTables& tables) {
  const auto tap = [&](int row, int j) -> double { return tables.decode[(phase * 3 + row) * 3 + j]; };
  const int last = shape.terms - 2;
  float* const own = &tables.own[phase * 4];
  if (shape.terms >= 3) {
    const double d0 = tap(0, 0), d1 = tap(0, 1), d2 = tap(0, 2);
    // From a sample in the middle where there is one: the first differs by the rounding of `open`.
    const auto v = band.column(phase, 0, std::min(1, shape.terms - 3));
    own[0] = static_cast<float>(-d1 / (d0 * d0) - v[1]);
    own[1] = static_cast<float>((d1 * d1 - d0 * d2) / (d0 * d0 * d0) - v[2]);
  }
  own[2] = static_cast<float>(-tap(1, 1) / (tap(1, 0) * tap(2, 0)) - band.column(phase, 0, last)[1]);
}

/// Sum over delta of the squared error of one component, E_(p,delta)[., k].
double error_square(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                    const DifferentialBand& band, int phase, int k) {
  const int taps = tap_count(shape.terms, k);
  const float* const d = &tables.decode[(phase * 3 + decode_row(shape.terms, k)) * 3];
  double sum = 0;
  for (int delta = 0; delta < shape.workers; ++delta) {
    double e[2 + DifferentialBand::kWidth] = {-1.0};
    for (int tap = 0; tap < taps; ++tap) {
      auto v = band.column(phase, delta, k + tap);
      if (delta == 0 && tables.own_exact)
        for (int i = 1; i <= 2 && k + tap + i < shape.terms; ++i)
          v[i] += tables.own[(phase * 2 + own_row(shape.terms, k + tap)) * 2 + i - 1];
      for (int i = 0; i < DifferentialBand::kWidth; ++i) e[tap + i] += d[tap] * v[i];
    }
    for (double value : e) sum += value * value;
  }
  return sum;
}

double noise_square(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                    const DifferentialBand& band, int phase, int k) {
  const int taps = tap_count(shape.terms, k);
  Eigen::VectorXd d(taps);
  for (int j = 0; j < taps; ++j) d[j] = tables.decode[(phase * 3 + decode_row(shape.terms, k)) * 3 + j];
  return (band.noise_root(phase, k, taps) * d).squaredNorm();
}

double condition_of(const runtime::Shape& shape, const DifferentialBand& band) {
  const int size = std::min(shape.terms, kConditionColumns);
  double worst = 1;
  for (int p = 0; p < shape.workers; ++p) {
    Eigen::MatrixXd v = Eigen::MatrixXd::Zero(size, size);
    for (int k = 0; k < size; ++k) {
      const auto column = band.column(p, 0, k);
      for (int i = 0; i < DifferentialBand::kWidth && k + i < size; ++i) v(k + i, k) = column[i];
    }
    worst = std::max(worst, condition_number(v));
  }
  return worst;
}

runtime::ErrorClaim claim_with(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                               double nu, double condition) {
  const DifferentialBand band(shape, tables);
  const std::vector<ComponentGroup> groups = component_groups(shape.terms);
  std::vector<double> squares(shape.workers, 0.0);
  double noise = 0;
  for (int p = 0; p < shape.workers; ++p)
    for (const auto& [k, count] : groups) {
      squares[p] += count * error_square(shape, tables, band, p, k);
      noise += count * noise_square(shape, tables, band, p, k);
    }
  return claim_from_sums(shape, squares, noise, condition, nu);
}

}  // namespace

DifferentialDesign differential_design(int workers, int terms, float epsilon, double nu, bool own_exact,
                                       int contributions) {
  const runtime::Shape shape = runtime::make_shape(workers, terms * workers);
  DifferentialDesign design;
  design.tables = differential_tables(shape, epsilon, nu, own_exact, contributions);
  design.claim = claim_of(shape, design.tables, nu);
  return design;
}

runtime::ErrorClaim claim_of(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                             double nu) {
  require_tables(shape, tables);
  return claim_with(shape, tables, nu, condition_of(shape, DifferentialBand(shape, tables)));
}

runtime::DifferentialTables differential_tables(const runtime::Shape& shape, float epsilon, double nu,
                                                bool own_exact, int contributions) {
  const int workers = shape.workers;
  if (workers < 2 || shape.terms < 2 || shape.chains != 1)
    throw Error(ErrorCode::invalid_argument,
                "a differential code of " + std::to_string(shape.components) + " components for " +
                    std::to_string(workers) +
                    " workers; it needs at least 2 workers and a multiple of them, at least twice as many.");
  if (!(epsilon > 0 && epsilon <= 1))
    throw Error(ErrorCode::invalid_argument, "epsilon of a differential code is " + std::to_string(epsilon) +
                                                 "; choose a number above 0 and at most 1.");
  if (!(nu >= 0))
    throw Error(ErrorCode::invalid_argument,
                "nu is " + std::to_string(nu) + "; the rounding error of a hop cannot be negative.");
  if (contributions != 2 && contributions != 3)
    throw Error(ErrorCode::invalid_argument, "a visit of " + std::to_string(contributions) +
                                                 " contributions has no tables; choose 2 or 3.");
  runtime::DifferentialTables tables;
  tables.epsilon = epsilon;
  tables.shift = (1.0 + 1.0 / workers) / 2;
  tables.own_exact = own_exact;
  tables.open.resize(3 * workers);
  tables.extend.resize(3 * workers);
  tables.own.resize(4 * workers);
  tables.decode.resize(9 * workers);
  for (int p = 0; p < workers; ++p) {
    const double z = (p == 0 ? 1.0 : static_cast<double>(p) / workers) - tables.shift;
    for (int j = 0; j < contributions; ++j) {
      const double t = std::pow(static_cast<double>(epsilon), j) * binomial(z, j);
      tables.open[3 * p + j] = static_cast<float>(t);
      tables.extend[3 * p + j] = static_cast<float>(epsilon * t);
    }
  }
  const DifferentialBand band(shape, tables);
  for (int p = 0; p < workers; ++p) {
    for (int row = shape.terms >= 3 ? 0 : 1; row < 3; ++row) {
      const Eigen::VectorXd taps = solve_taps(shape, band, p, row, nu, own_exact);
      for (int j = 0; j < taps.size(); ++j)
        tables.decode[(p * 3 + row) * 3 + j] = static_cast<float>(taps[j]);
    }
    if (own_exact) solve_own(shape, band, p, tables);
  }
  // The turn starts one component earlier: this alone would make it read a third.
  if (contributions == 2) tables.own[1] = 0;
  return tables;
}

double total_error(const runtime::Shape& shape, const runtime::DifferentialTables& tables, double nu) {
  return claim_with(shape, tables, nu, 1.0).total;
}

}  // namespace cerar::tuner
