#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cerar::runtime {

/// A directory that all ranks see: one file `cerar-KEY` for each key, written beside it and renamed.
class Directory {
 public:
  /// Makes it where it is missing. Throws `system` naming the path and the reason where it cannot be made;
  /// the functions likewise, where a file cannot be written or read.
  explicit Directory(std::filesystem::path path);

  std::string name() const { return "file:" + path_.string(); }

  /// Overwrites; readers see the old bytes or the new ones.
  void set(const std::string& key, std::string_view bytes);
  /// Nothing where the key is missing.
  std::optional<std::string> get(const std::string& key) const;
  void remove(const std::string& key) noexcept;
  /// Removes what dead jobs left: keys "ID.*" with an id of fresh_id.
  void remove_meetings() noexcept;

 private:
  std::filesystem::path path_of(const std::string& key) const { return path_ / ("cerar-" + key); }
  [[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) const;

  std::filesystem::path path_;
};

}  // namespace cerar::runtime
