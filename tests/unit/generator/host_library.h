#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "generator/specialise/specialise.h"
#include "runtime/base/temporary_directory.h"
#include "templates/visit_arguments.h"

namespace cerar::test {

/// The host build of one variant's kernels, opened with dlopen. `preamble` is source that comes before them.
class HostLibrary {
 public:
  explicit HostLibrary(const generator::KernelSpec& spec, const std::string& preamble = "");
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  void run(const std::string& role, const cerar_visit_arguments& arguments) const;
  unsigned arguments_size() const;
  void* symbol(const std::string& name) const;

 private:
  std::string prefix_;
  TemporaryDirectory directory_;
  void* handle_ = nullptr;
};

/// One visit as a kernel sees it and as a reference in double precision does: rows of the vector, a padded
/// row, an incoming and an outgoing message. All buffers are poisoned with NaN around what a kernel may read.
struct Visit {
  int terms = 1, chains = 1, interleave = 32, rows = 3;
  bool has_tail = true, receives = true, sends = true, in_place = true;
  int phase = 0, sample = -1;
  float divisor = 1;
};

/// What a role does to one element of each line of a row.
struct Element {
  std::vector<double> input;  ///< [terms]
  std::vector<double> slots;  ///< [terms], read and written
  std::vector<double> early;  ///< [chains - 1], read and written
  bool in_place = true;       ///< input and slots are one, as in a padded row they always are
  double received = 0;
  double message = 0;  ///< written
};

/// Runs `role` and compares every slot and message element with `reference`; also that nothing else was
/// written.
void expect_matches(const HostLibrary& library, const std::string& role, const Visit& visit,
                    const std::function<void(Element&)>& reference);

}  // namespace cerar::test
