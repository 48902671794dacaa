// nccl_program COMM LOOK_UP LIBRARY...: loads the libraries, one after the other, as packages of their own
// bring them; makes a communicator of NCCL's of one rank with the functions of library number COMM, from 0
// ("-": none can be seen, and a pointer stands for one), and one of CERAR's from it. LOOK_UP "yes" hands over
// that library's functions. Prints the result and the sentence.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/gpu/nccl/nccl_api.h"
#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"

namespace {

using namespace cerar::runtime;

void* chosen = nullptr;

void* look_up(const char* name) { return dlsym(chosen, name); }

template <typename Function>
Function* function(void* library, const char* name) {
  void* const address = dlsym(library, name);
  if (!address) {
    std::fprintf(stderr, "nccl_program: no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(address);
}

void* open(const char* file) {
  if (void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
  std::fprintf(stderr, "nccl_program: %s\n", dlerror());
  std::exit(2);
}

void enter_device() {
  void* const driver = open("libcuda.so.1");
  CuContext context = nullptr;
  function<CuResult(unsigned)>(driver, "cuInit")(0);
  function<CuResult(CuContext*, CuDevice)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0);
  function<CuResult(CuContext)>(driver, "cuCtxPushCurrent_v2")(context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  enter_device();
  std::vector<void*> libraries;
  for (int i = 3; i < argc; ++i) libraries.push_back(open(argv[i]));
  NcclUniqueId id{};
  auto* nccl = reinterpret_cast<NcclComm>(&id);
  if (std::string(argv[1]) != "-") {
    chosen = libraries.at(std::strtoul(argv[1], nullptr, 10));
    function<NcclResult(NcclUniqueId*)>(chosen, "ncclGetUniqueId")(&id);
    function<NcclResult(NcclComm*, int, NcclUniqueId, int, NcclConfig*)>(chosen, "ncclCommInitRankConfig")(
        &nccl, 1, id, 0, nullptr);
  }
  cerarResult_t result = std::string(argv[2]) == "yes" ? cerarUseNccl(look_up) : cerarSuccess;
  cerarComm_t comm = nullptr;
  if (result == cerarSuccess) result = cerarCommInitNccl(&comm, nccl, nullptr, cerar::TimeLimit(2000));
  std::printf("%d %s\n", static_cast<int>(result), result == cerarSuccess ? "" : cerarGetLastError());
  if (result == cerarSuccess) {
    cerarGetNcclId(nullptr);  // an error of this thread's, whatever it was before
    if (cerarUseNccl(look_up) != cerarSuccess) std::printf("then: %s\n", cerarGetLastError());
  }
  cerarCommDestroy(comm);
  return 0;
}
