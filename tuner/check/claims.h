#pragma once

#include "runtime/plan/plan.h"
#include "tuner/check/findings.h"

namespace cerar::tuner {

/// Recomputes each variant's error claim from its tables, and compares the budget with it.
void check_claims(const runtime::Plan& plan, Findings& findings);

/// Recomputes predicted times and what the topology decides about the execution. Only against the very
/// topology that the plan was made for, which must be one that this build knows; else a fact says so.
void check_predictions(const runtime::Plan& plan, Findings& findings);

}  // namespace cerar::tuner
