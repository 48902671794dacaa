#pragma once

#include <filesystem>
#include <set>
#include <string_view>

namespace cerar::generator {

/// A plan directory under construction. It grows in a hidden directory beside its destination and takes the
/// destination's place in one step, complete or not at all; without publish() the destructor removes it.
class StagedDirectory {
 public:
  /// Throws `system`, naming the path, when the parent does not exist or cannot be written; and
  /// `invalid_argument` when the destination exists and is neither empty nor a plan directory (one that holds
  /// plan.yaml and at most kernels beside it), or when it is a plan directory and `replace` is not set.
  StagedDirectory(const std::filesystem::path& destination, bool replace);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  /// Writes a file at a path relative to the directory and flushes it to the disk. Throws `system`.
  void write(const std::filesystem::path& file, std::string_view bytes);

  /// Puts the directory in the place of the destination; a plan that was there is removed. Of several that
  /// publish to one destination without `replace` exactly one succeeds. Throws what the constructor throws
  /// for what has come to stand there meanwhile, and `system`; the destination is then as it was.
  void publish();

  /// The constructor's checks alone, for an early refusal.
  static void check(const std::filesystem::path& destination, bool replace);

 private:
  std::filesystem::path destination_;
  bool replace_;
  std::filesystem::path staging_;
  std::set<std::filesystem::path> directories_;  ///< of the files written
};

}  // namespace cerar::generator
