#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace cerar::generator {

/// The content of plan.yaml, digest line included. Doubles and floats are written as the shortest decimal
/// that reads back bit for bit; equal plans give equal bytes. `plan.digest` is ignored.
std::string plan_text(const runtime::Plan& plan);

}  // namespace cerar::generator
