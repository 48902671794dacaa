#pragma once

#include <filesystem>
#include <optional>
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

/// Whether a text must match its digest. `ignored` is for inspection alone, where the name of what was
/// altered is worth more than an early refusal; never run such a plan.
enum class Digest { required, ignored };

/// The same for a text; `file` is used in messages. Checks no artefacts.
Plan parse_plan(const std::string& text, const std::string& file, Digest digest = Digest::required);

/// The sentence with which parse_plan refuses a digest that is missing or does not fit; nothing where it
/// fits.
std::optional<std::string> digest_problem(const std::string& text, const std::string& file);

/// The sentence with which load_plan refuses a file that is missing or does not match its SHA-256; nothing
/// where it is intact.
std::optional<std::string> artefact_problem(const std::filesystem::path& directory, const Artefact& artefact);

/// Consistency of what parse_plan read and of what the tuner built: shapes, table sizes and contents, finite
/// values, byte ranges. Throws `invalid_plan` naming the field.
void check_plan(const Plan& plan);

}  // namespace cerar::runtime
