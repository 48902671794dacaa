#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace cerar::test {

/// A small plan of four workers with one differential variant of eight components, made once per test
/// process.
const std::filesystem::path& intact_plan();
/// Two ranks, exact, one variant.
const std::filesystem::path& exact_plan();

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

/// A copy of a plan directory that the test may damage.
std::filesystem::path copy_of(const std::filesystem::path& plan);

/// The text with its last line, the digest, made to fit what stands before it.
std::string with_digest(const std::string& text);

/// Replaces the first occurrence; the test fails when there is none.
std::string replaced(const std::string& text, const std::string& from, const std::string& to);

using TextEdit = std::function<std::string(const std::string&)>;
/// Rewrites a plan's plan.yaml, with a fitting digest.
void edit_plan(const std::filesystem::path& plan, const TextEdit& edit);
/// Rewrites one of its files and makes SHA-256 and digest fit.
void edit_artefact(const std::filesystem::path& plan, const std::string& file, const TextEdit& edit);

}  // namespace cerar::test
