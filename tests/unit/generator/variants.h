#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// A variant with random tables (fixed seed): the kernels' arithmetic is under test, not the code behind it.
/// `family` is "sum" (terms = 1), "plain" or "differential".
/// Plain variants have tables for calls out of place where such a code may.
runtime::Variant random_variant(const std::string& family, int workers, int terms, bool own_exact = true);

/// Plain messages of any c; `apart` false leaves the tables for calls out of place away.
runtime::Variant random_plain(int workers, int components, bool apart = true);

/// A plan of one sum, one plain and one differential variant for `workers`.
runtime::Plan random_plan(int workers);

}  // namespace cerar::test
