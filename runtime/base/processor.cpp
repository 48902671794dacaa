#include "runtime/base/processor.h"

#include <fmt/format.h>

#include <algorithm>

#if !defined(__x86_64__)
#include <sys/utsname.h>
#endif

namespace cerar {
namespace {

#if defined(__x86_64__)
// What the ABI asks of each level beyond the one before, as far as processors differ in it. The built-in asks
// the operating system as well, which must keep the wide registers.
bool runs_level(int level) {
  __builtin_cpu_init();
  switch (level) {
    case 1:
      return true;
    case 2:
      return __builtin_cpu_supports("x86-64-v2") != 0;
    case 3:
      return __builtin_cpu_supports("x86-64-v3") != 0;
    default:
      return __builtin_cpu_supports("x86-64-v4") != 0;
  }
}
#endif

}  // namespace

std::vector<std::string> processor_targets() {
#if defined(__x86_64__)
  return {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
#else
  utsname system{};
  ::uname(&system);
  return {fmt::format("generic-{}", system.machine)};
#endif
}

std::string processor_target() {
  const auto targets = processor_targets();
#if defined(__x86_64__)
  std::size_t level = 1;
  while (level < targets.size() && runs_level(static_cast<int>(level) + 1)) ++level;
  return targets[level - 1];
#else
  return targets.front();
#endif
}

std::optional<std::string> processor_problem(const std::string& target) {
  const auto targets = processor_targets();
  const std::string here = processor_target();
  const auto wanted = std::find(targets.begin(), targets.end(), target);
  if (wanted <= std::find(targets.begin(), targets.end(), here) && wanted != targets.end())
    return std::nullopt;
  return fmt::format("are for a processor of {}, and this one is of {}", target, here);
}

}  // namespace cerar
