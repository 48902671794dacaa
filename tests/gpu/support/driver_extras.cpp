#include "tests/gpu/support/driver_extras.h"

#include <dlfcn.h>

#include "runtime/base/error.h"

namespace cerar::test {
namespace {

void* find(const char* name) {
  runtime::driver();  // says what is wrong where there is none
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : nullptr;
}

template <typename Function>
void look_up(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find(name));
  if (!function)
    throw Error(ErrorCode::unsupported,
                std::string("libcuda.so.1 has no function ") + name + "; install a newer driver.");
}

}  // namespace

GraphFunctions graph_functions() {
  GraphFunctions functions;
  look_up(functions.begin, "cuStreamBeginCapture_v2");
  look_up(functions.end, "cuStreamEndCapture");
  look_up(functions.instantiate, "cuGraphInstantiateWithFlags");
  look_up(functions.launch, "cuGraphLaunch");
  look_up(functions.destroy_exec, "cuGraphExecDestroy");
  look_up(functions.destroy, "cuGraphDestroy");
  return functions;
}

ElapsedTime elapsed_time() {
  if (const auto newer = reinterpret_cast<ElapsedTime>(find("cuEventElapsedTime_v2"))) return newer;
  return reinterpret_cast<ElapsedTime>(find("cuEventElapsedTime"));
}

bool is_stand_in() { return find("software_gpu_use") != nullptr; }

void use_plan(const std::string& directory) {
  using Use = int (*)(const char*);
  const auto use = reinterpret_cast<Use>(find("software_gpu_use"));
  if (use && use(directory.c_str()) < 1)
    throw Error(ErrorCode::invalid_plan,
                directory + " has no cubin with a host build beside it; make the plan with both.");
}

}  // namespace cerar::test
