#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cerar {

/// An open file or directory, closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// More than any file that CERAR reads; what has no end is refused there.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;

/// The whole file as bytes. Throws `system` naming the path and the operating system's reason, and where it
/// holds more than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes = kMostFileBytes);

/// The same for a regular file below an open directory, whatever became of the directory's path; nothing
/// where there is no such file. `path` is what errors call it.
std::optional<std::string> read_file_below(const Descriptor& directory, const std::string& file,
                                           const std::filesystem::path& path,
                                           std::uint64_t most_bytes = kMostFileBytes);

/// Writes all bytes; false, with errno, where that fails.
bool write_bytes(const Descriptor& file, std::string_view bytes);

}  // namespace cerar
