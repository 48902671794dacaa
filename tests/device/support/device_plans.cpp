#include "tests/device/support/device_plans.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "runtime/base/temporary_directory.h"
#include "runtime/plan/names.h"
#include "tests/software_gpu/software_gpu.h"
#include "tests/support/command.h"

namespace cerar::test {

std::string device_plan(runtime::Construction construction, int workers, int components, int lanes,
                        runtime::Wire wire, std::uint64_t baseline_bytes) {
  static const TemporaryDirectory scratch;  // removed when the process exits
  static std::set<std::string> made;
  const std::string name = fmt::format("{}-n{}-c{}-l{}-{}-b{}", runtime::name_of(construction), workers,
                                       components, lanes, runtime::name_of(wire), baseline_bytes);
  const std::string directory = (scratch.path() / name).string();
  if (made.insert(name).second) {
    const auto done = run_command({CERAR_MAKE_PLAN, directory, std::string(runtime::name_of(construction)),
                                   std::to_string(workers), std::to_string(components), std::to_string(lanes),
                                   std::string(runtime::name_of(wire)), std::to_string(baseline_bytes)});
    if (done.exit_code != 0) throw std::runtime_error("make_plan failed: " + done.err);
  }
  software_gpu_use(directory.c_str());
  return directory;
}

}  // namespace cerar::test
