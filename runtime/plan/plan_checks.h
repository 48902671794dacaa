#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// What the kernels take for granted about the contents of a variant's tables, whose sizes are right already:
///   plain         beta changes over N visits by exact f32 numbers, which the kernels add;
///                 decode_out_of_place is there only for codes that can_decode_out_of_place
///   differential  entries that no component of this `terms` uses are 0, the weight of a component's own
///                 sample is not, `own` is 0 unless own_exact, and shift is (1 + 1/N) / 2
/// The first entry that breaks this, as a clause that names it ("open[0][1] ..."); nothing where all hold.
std::optional<std::string> table_problem(const Variant& variant);

}  // namespace cerar::runtime
