#pragma once

#include <string>

namespace cerar::runtime {

/// A shared library that is opened while the program runs and stays open until it ends.
class SharedLibrary {
 public:
  /// Throws `unsupported` when `name` cannot be opened; `needed_for` ends the sentence.
  SharedLibrary(const std::string& name, const std::string& needed_for);

  /// Throws `unsupported` when the library lacks it, saying that a newer one is needed.
  void* symbol(const char* name) const;

  void* handle() const { return handle_; }  ///< of dlopen

 private:
  std::string name_;
  void* handle_;
};

}  // namespace cerar::runtime
