#pragma once

#include <string>
#include <vector>

namespace cerar::runtime {

using SymbolLookUp = void* (*)(const char* name);

/// A copy of NCCL in this process. There may be several: applications link it statically, and packages bring
/// their own.
struct NcclCopy {
  std::string file;
  int version = 0;  ///< 22809 for 2.28.9
};

/// The library that NCCL's functions are taken from: by `look_up` where it is given; else the file that
/// CERAR_NCCL_LIBRARY names; else one that the process has loaded already: libnccl.so.2, what every library
/// sees, or the only copy that there is; else libnccl.so.2 as the system finds it.
class NcclLibrary {
 public:
  /// Throws `unsupported` where there is none.
  explicit NcclLibrary(SymbolLookUp look_up);

  /// Null when the library lacks it.
  void* find(const char* name) const;
  /// Throws `unsupported`, naming both.
  void* symbol(const char* name) const;

  const std::string& file() const { return file_; }
  /// The caller chose this copy, with a function or with a file that the process had loaded before.
  bool is_chosen() const { return chosen_; }
  /// No copy that could be seen was in the process before.
  bool is_first() const { return first_; }

 private:
  void open(const std::string& name, const char* advice);

  SymbolLookUp look_up_ = nullptr;
  void* handle_ = nullptr;
  std::string file_;
  bool chosen_ = false, first_ = false;
};

/// Every copy that can be seen: of each loaded file that exports ncclGetVersion.
std::vector<NcclCopy> nccl_copies();

/// "2.28.9"
std::string nccl_version_words(int version);

}  // namespace cerar::runtime
