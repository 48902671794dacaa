#pragma once

#include <filesystem>

namespace cerar {

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
