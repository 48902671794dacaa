#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/file.h"
#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// A plan with the bytes of its compiled files, as they were verified. Nothing of the directory is needed any
/// more: it may be replaced, moved or removed.
struct LoadedPlan {
  std::shared_ptr<const Plan> plan;
  std::filesystem::path directory;           ///< as it was called; for messages alone
  std::map<std::string, std::string> files;  ///< bytes by `Artefact::file`, without the source

  const std::string& bytes_of(const Artefact& artefact) const { return files.at(artefact.file); }
  std::string name_of(const Artefact& artefact) const { return (directory / artefact.file).string(); }
};

/// A plan directory that is open: everything is read from the one that its path led to at first, even when
/// another one takes its place meanwhile.
class PlanDirectory {
 public:
  /// Throws `invalid_plan` where there is no such directory, `system` where it cannot be opened.
  explicit PlanDirectory(const std::filesystem::path& path);

  /// The bytes of plan.yaml. Throws `invalid_plan` where it does not exist, `system` where it cannot be read.
  std::string text() const;
  /// The bytes of a file, unverified; nothing where it does not exist. Throws `system` where it cannot be
  /// read.
  std::optional<std::string> bytes(const Artefact& artefact) const;
  std::filesystem::path path_of(const Artefact& artefact) const { return path_ / artefact.file; }
  std::filesystem::path plan_file() const;

  /// Whether the path leads elsewhere by now, or nowhere.
  bool was_replaced() const;

 private:
  std::filesystem::path path_;
  Descriptor directory_;
};

/// How often a path was read in vain.
struct ReadingAgain {
  int replaced = 0, missing = 0;

  /// Whether to try once more: the directory was replaced while it was read, or was away for a moment.
  bool is_worth_it(const std::optional<PlanDirectory>& directory);
};

/// Calls `read` on the directory at `path`, and on the one that took its place where that failed meanwhile:
/// whoever replaces a plan removes the old one while others may be reading it.
template <typename Read>
auto read_plan_directory(const std::filesystem::path& path, const Read& read) {
  for (ReadingAgain again;;) {
    std::optional<PlanDirectory> directory;
    try {
      directory.emplace(path);
      return read(*directory);
    } catch (...) {
      if (!again.is_worth_it(directory)) throw;
    }
  }
}

/// Loads a plan, all or nothing; every file is read once. Throws `invalid_plan` with one sentence that names
/// the file and the field, `system` where something cannot be read.
LoadedPlan load_plan_directory(const std::filesystem::path& path);

/// The sentence with which a plan is refused whose file has other bytes than it lists.
std::optional<std::string> artefact_problem(const std::filesystem::path& path, const Artefact& artefact,
                                            const std::optional<std::string>& bytes);

}  // namespace cerar::runtime
