#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/include/cerar.h"
#include "runtime/measure/element_type.h"
#include "runtime/measure/measure.h"

namespace cerar::test {

/// What all ranks put in, as elements of one type, and the exact sums of that in double. The first `count`
/// elements are the inputs of calls of `count` elements.
class RankInputs {
 public:
  RankInputs(runtime::Input kind, int ranks, std::size_t most, cerarDataType_t type);

  runtime::Input kind() const { return kind_; }
  int ranks() const { return static_cast<int>(bytes_.size()); }
  cerarDataType_t type() const { return type_; }
  const void* of(int rank) const { return bytes_[static_cast<std::size_t>(rank)].data(); }
  const std::vector<double>& sums() const { return sums_; }

 private:
  runtime::Input kind_;
  cerarDataType_t type_;
  std::vector<std::vector<std::byte>> bytes_;  // [rank]
  std::vector<double> sums_;
};

/// Whole numbers where every variant of the plan promises exact sums, else normal ones.
runtime::Input input_for(const std::string& plan_directory);

}  // namespace cerar::test
