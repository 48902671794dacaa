#pragma once

#include <filesystem>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

inline constexpr char kPlanFormat[] = "cerar-plan/1";
inline constexpr char kPlanFileName[] = "plan.yaml";
/// Last line of plan.yaml: this key and the SHA-256 of every byte before it.
inline constexpr char kDigestKey[] = "digest: ";

/// Which of the files that a plan lists must be there, unaltered.
enum class Artefacts { all, source_only, none };

/// Reads and checks `directory`/plan.yaml, all or nothing. Throws `invalid_plan` with one sentence that names
/// the file and the field, `system` when a file cannot be read.
Plan load_plan(const std::filesystem::path& directory, Artefacts artefacts = Artefacts::all);

/// The same for a text; `file` is used in messages. Checks no artefacts.
Plan parse_plan(const std::string& text, const std::string& file);

/// Consistency of what parse_plan read and of what the tuner built: shapes, table sizes, finite values, byte
/// ranges. Throws `invalid_plan` naming the field.
void check_plan(const Plan& plan);

}  // namespace cerar::runtime
