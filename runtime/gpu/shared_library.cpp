#include "runtime/gpu/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/base/error.h"

namespace cerar::runtime {

SharedLibrary::SharedLibrary(const std::string& name, const std::string& needed_for)
    : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} cannot be opened ({}); {}", name, dlerror(), needed_for));
}

void* SharedLibrary::symbol(const char* name) const {
  if (void* address = dlsym(handle_, name)) return address;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} has no function {}; install a newer version of it.", name_, name));
}

}  // namespace cerar::runtime
