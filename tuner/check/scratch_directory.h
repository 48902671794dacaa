#pragma once

#include <filesystem>

namespace cerar::tuner {

/// A private temporary directory that is gone with its owner. Throws `system` when it cannot be made.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cerar::tuner
