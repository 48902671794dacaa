#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cerar {

/// A shared library opened from bytes rather than from a path: what was verified is what runs, and no other
/// library that is open already can take its place. Closed with its owner.
class MemoryLibrary {
 public:
  /// `name` is for errors and debuggers. Throws `invalid_plan` where the bytes are no library of this
  /// machine, and `system`, saying what was refused, where it allows code neither in a memory file nor in a
  /// temporary one.
  MemoryLibrary(std::string_view bytes, const std::string& name);

  /// Null where the library lacks it.
  void* symbol(const std::string& symbol) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> handle_;
};

}  // namespace cerar
