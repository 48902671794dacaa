#include "runtime/measure/inputs.h"

#include <cmath>
#include <numbers>

#include "runtime/measure/element_type.h"

namespace cerar::runtime {
namespace {

// SplitMix64: every element's randomness follows from its index alone.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// Box-Muller.
float normal(std::uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(uniform(mix(2 * key))));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(mix(2 * key + 1))));
}

}  // namespace

std::vector<float> make_input(Input kind, int rank, std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  const std::uint64_t stream =
      mix(seed * 1000003 + (kind == Input::equal ? 0 : static_cast<std::uint64_t>(rank) + 1));
  for (std::size_t i = 0; i < count; ++i)
    values[i] = kind == Input::integers ? static_cast<float>(static_cast<int>(mix(stream + i) % 129) - 64)
                                        : normal(stream + i);
  return values;
}

std::vector<float> make_input(const MeasureOptions& options, int rank) {
  return rounded(options.type, make_input(options.input, rank, options.count));
}

void ExactResult::add(const std::vector<float>& input) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += input[i];
  ++inputs_;
}

std::vector<double> ExactResult::finish() && {
  if (op_ == cerarAverage)
    for (double& x : values_) x /= inputs_;
  return std::move(values_);
}

}  // namespace cerar::runtime
