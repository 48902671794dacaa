#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

inline constexpr char kPlanFormat[] = "cerar-plan/2";
inline constexpr char kPlanFileName[] = "plan.yaml";
/// Last line of plan.yaml: this key and the SHA-256 of every byte before it.
inline constexpr char kDigestKey[] = "digest: ";
/// Longer texts are neither written nor read. The largest found has half of it: 62 components that 255
/// workers mix.
inline constexpr std::uint64_t kMostPlanBytes = std::uint64_t{256} << 20;

/// Whether the files that a plan lists must be there, unaltered.
enum class Artefacts { all, none };

/// The plan of a directory alone, without its files; see plan_directory.h. Throws what load_plan_directory
/// throws.
Plan load_plan(const std::filesystem::path& directory, Artefacts artefacts = Artefacts::all);

/// Whether a text must match its digest. `ignored` is for inspection alone, where the name of what was
/// altered is worth more than an early refusal; never run such a plan.
enum class Digest { required, ignored };

/// The same for a text; `file` is used in messages. Checks no artefacts. Nothing is made of a text whose
/// digest must fit and does not.
Plan parse_plan(const std::string& text, const std::string& file, Digest digest = Digest::required);

/// The sentence with which parse_plan refuses a digest that is missing or does not fit; nothing where it
/// fits.
std::optional<std::string> digest_problem(const std::string& text, const std::string& file);

/// Consistency of what parse_plan read and of what the tuner built: shapes, table sizes and contents, finite
/// values, byte ranges. Throws `invalid_plan` naming the field.
void check_plan(const Plan& plan);

}  // namespace cerar::runtime
