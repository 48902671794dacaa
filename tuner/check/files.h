#pragma once

#include <filesystem>

#include "runtime/plan/plan.h"
#include "tuner/check/findings.h"

namespace cerar::tuner {

/// The file that a variant lists as its kernel source, or null.
const runtime::Artefact* source_of(const runtime::Variant& variant);

/// Every source must be there, and everything that is there must match its SHA-256.
void check_files(const runtime::Plan& plan, const std::filesystem::path& directory, Findings& findings);

}  // namespace cerar::tuner
