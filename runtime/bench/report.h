#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/bench/comparison.h"

namespace cerar::runtime {

/// What was measured at one size out of place, or in place.
struct Half {
  double time_us = 0;
  Errors errors;
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
};

/// One size. `options` are those in place; `baseline_time_us` is missing where there is no ring to compare
/// with.
nlohmann::json row_json(const MeasureOptions& options, const Half& out_of_place, const Half& in_place,
                        std::optional<double> baseline_time_us, int ranks);

/// The table for people: nccl-tests' columns, then error, bytes sent and the exact ring.
void print_heading(const Comparison& comparison);
void print_row(const nlohmann::json& row);

}  // namespace cerar::runtime
