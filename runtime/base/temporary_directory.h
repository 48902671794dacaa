#pragma once

#include <filesystem>

namespace cerar {

/// Removes a file, or a directory and everything in it; follows no links. Unlike std::filesystem::remove_all
/// it takes one descriptor at a time, so that a program that has run out of them still tidies up. What cannot
/// be removed stays.
void remove_tree(const std::filesystem::path& directory) noexcept;

/// A private directory under TMPDIR (or /tmp), gone with its owner and everything in it.
class TemporaryDirectory {
 public:
  /// Throws `system` naming the path when it cannot be made.
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cerar
