// Time to design a code against N and c, and the exponents with which it grows: least squares in log-log. A
// plain program: one design is its own measurement, the best of a few where it is short.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "tuner/code/plain/error_model.h"
#include "tuner/optimise/optimise_code.h"

namespace {

using namespace cerar::tuner;

struct Measurement {
  int workers, components;
  double seconds;
};

double seconds_of(const std::function<void()>& design) {
  double best = 1e300, spent = 0;
  for (int i = 0; i < 5 && spent < 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    design();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

/// Slope of log seconds over log x, x from each measurement.
double exponent(const std::vector<Measurement>& list, const std::function<double(const Measurement&)>& x) {
  double mean_x = 0, mean_y = 0, covariance = 0, variance = 0;
  for (const auto& m : list) {
    mean_x += std::log(x(m)) / static_cast<double>(list.size());
    mean_y += std::log(m.seconds) / static_cast<double>(list.size());
  }
  for (const auto& m : list) {
    covariance += (std::log(x(m)) - mean_x) * (std::log(m.seconds) - mean_y);
    variance += std::pow(std::log(x(m)) - mean_x, 2);
  }
  return covariance / variance;
}

std::vector<Measurement> series(const char* name, const std::vector<std::pair<int, int>>& sizes,
                                const std::function<void(int, int)>& design) {
  std::vector<Measurement> list;
  for (const auto& [workers, components] : sizes) {
    list.push_back({workers, components, seconds_of([&] { design(workers, components); })});
    fmt::print("{:<22} N = {:<4} c = {:<5} {:>9.4f} s\n", name, workers, components, list.back().seconds);
    std::fflush(stdout);
  }
  return list;
}

double by_workers(const Measurement& m) { return m.workers; }
double by_terms(const Measurement& m) { return static_cast<double>(m.components) / m.workers; }

void optimised(int workers, int components) { optimise_code(workers, components, {.nu = kNuF32}); }
void differential(int workers, int components) {
  best_differential(workers, components / workers, kNuF32, true);
}

}  // namespace

int main() {
  std::vector<Measurement> eight_workers;
  for (int terms : {2, 4, 8}) {
    std::vector<std::pair<int, int>> sizes;
    for (int workers : {4, 8, 16, 32, 64, 128}) sizes.emplace_back(workers, terms * workers);
    const auto list = series(fmt::format("optimised, r = {}", terms).c_str(), sizes, optimised);
    fmt::print("  grows like N^{:.2f}\n", exponent(list, by_workers));
    eight_workers.push_back(list[1]);
  }
  fmt::print("  optimised at N = 8 grows like r^{:.2f}\n", exponent(eight_workers, by_terms));
  const auto dense = series("dense, c = N + 1", {{4, 5}, {8, 9}, {16, 17}, {32, 33}}, optimised);
  fmt::print("  grows like N^{:.2f}\n", exponent(dense, by_workers));
  const auto wide = series("differential, N = 8", {{8, 32}, {8, 128}, {8, 512}, {8, 2048}}, differential);
  fmt::print("  grows like c^{:.2f}\n", exponent(wide, by_terms));
  const auto many =
      series("differential, r = 16", {{8, 128}, {16, 256}, {32, 512}, {64, 1024}}, differential);
  fmt::print("  grows like N^{:.2f}\n", exponent(many, by_workers));
  series("differential", {{64, 4096}}, differential);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
