#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::test {

/// Whether whoever altered a plan made the digest fit.
enum class DigestLine { fits, stale };
void PrintTo(DigestLine digest, std::ostream* out);

/// Rewrites the tables and figures of a plan directory; its plan.yaml stays well-formed.
void alter_plan(const std::filesystem::path& plan, DigestLine digest,
                const std::function<void(runtime::Plan&)>& change);
/// Rewrites its text.
void alter_text(const std::filesystem::path& plan, DigestLine digest,
                const std::function<std::string(const std::string&)>& change);

runtime::Variant& variant_of(runtime::Plan& plan, const std::string& name);

/// A value whose sixth significant digit is another, and which is exactly an f32.
float changed_f32(float value);

/// The text with the sixth significant digit of the first long number below `key` of a variant changed: no
/// f32 any more.
std::string with_digit_changed(const std::string& text, const std::string& variant, const std::string& key);

/// What `cerar-tune check` says on a plan that it must not pass: the lines of stderr.
std::vector<std::string> differences_of(const std::filesystem::path& plan);

/// Some line holds all of the words.
void expect_line(const std::vector<std::string>& lines, const std::vector<std::string>& words);

/// The variants that lines name; lines about the plan as a whole count as "".
std::set<std::string> variants_named(const std::filesystem::path& plan,
                                     const std::vector<std::string>& lines);

}  // namespace cerar::test
