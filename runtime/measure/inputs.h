#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/include/cerar.h"

namespace cerar::runtime {

/// What the ranks put in.
enum class Input {
  normal,    ///< independent standard normal numbers on every rank
  equal,     ///< one normal vector, the same on every rank
  integers,  ///< independent whole numbers in -64..64, so that every partial sum is exact in f32
};

struct MeasureOptions {
  std::size_t count = 0;
  Input input = Input::normal;
  cerarRedOp_t op = cerarSum;
  bool in_place = false;
  cerarDataType_t type = cerarFloat32;  ///< of the vectors
};

/// A rank's input, the same for the same arguments on every machine.
std::vector<float> make_input(Input kind, int rank, std::size_t count, std::uint64_t seed = 1);

/// The same as a vector of the type holds it.
std::vector<float> make_input(const MeasureOptions& options, int rank);

/// Sums (or averages) inputs in double, one after the other.
class ExactResult {
 public:
  explicit ExactResult(const MeasureOptions& options) : op_(options.op), values_(options.count, 0.0) {}

  void add(const std::vector<float>& input);
  /// Call it once, after the last input.
  std::vector<double> finish() &&;

 private:
  cerarRedOp_t op_;
  int inputs_ = 0;
  std::vector<double> values_;
};

}  // namespace cerar::runtime
