#include "tests/software_gpu/memory/module.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/software_gpu/base/settings.h"

namespace software_gpu {
namespace {

namespace fs = std::filesystem;

/// A cubin or PTX on disk and the library that runs in its place.
struct Known {
  std::string bytes;
  fs::path host;
};
std::map<std::string, Known>& known() {  // by the file's path
  static auto& made = *new std::map<std::string, Known>;
  return made;
}

/// Cubins run on devices of the same major version and the same minor version or a higher one, PTX on all
/// that are not older.
bool runs(const Image& image, int device) {
  return image.architecture <= device && (image.is_ptx || image.architecture / 10 == device / 10);
}

std::shared_ptr<void> open(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return {library, dlclose};
  std::fprintf(stderr, "software GPU: %s\n", dlerror());
  return nullptr;
}

int learn(const char* directory) {
  std::error_code error;
  int paired = 0;
  const fs::path kernels = fs::absolute(fs::path(directory) / "kernels", error);
  for (const auto& entry : fs::directory_iterator(kernels, error)) {
    if (entry.path().extension() != ".cubin" && entry.path().extension() != ".ptx") continue;
    // <variant>.<arch>.cubin, <variant>.<arch>.ptx
    const fs::path variant = entry.path().stem().stem();
    const fs::path host = kernels / (variant.string() + ".host.so");
    if (!fs::exists(host, error)) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    known()[entry.path().string()] = {{std::istreambuf_iterator<char>(file), {}}, host};
    paired += entry.path().extension() == ".cubin";
  }
  return error ? -1 : paired;
}

}  // namespace

Handles<CuModule, Module>& modules() {
  static auto& made = *new Handles<CuModule, Module>;
  return made;
}
Handles<CuFunction, Function>& functions() {
  static auto& made = *new Handles<CuFunction, Function>;
  return made;
}

int use_plan(const char* directory) {
  const std::lock_guard hold(world());
  return learn(directory);
}

void forget_plans() {
  const std::lock_guard hold(world());
  known().clear();
}

CuResult load_module(const std::shared_ptr<Context>& context, const void* image, CuModule* handle) {
  auto module = std::make_shared<Module>();
  if (!read_image(image, &module->image)) return kCuInvalidImage;
  if (!runs(module->image, architecture())) return kCuNoBinaryForGpu;
  if (const char* directory = std::getenv("SOFTWARE_GPU_PLAN"); directory && known().empty())
    learn(directory);
  for (const auto& [path, file] : known()) {
    if (module->image.is_ptx && file.bytes.size() != module->image.bytes) continue;
    if (file.bytes.size() < module->image.bytes || std::memcmp(file.bytes.data(), image, module->image.bytes))
      continue;
    module->context = context;
    module->library = open(file.host);
    if (!module->library) return kCuInvalidImage;
    *handle = modules().add(std::move(module));
    return kCuSuccess;
  }
  std::fprintf(stderr,
               "software GPU: this image is of no plan that software_gpu_use or SOFTWARE_GPU_PLAN named\n");
  return kCuInvalidImage;
}

CuResult unload_module(CuModule handle) {
  const auto module = modules().find(handle);
  if (!module) return kCuInvalidHandle;
  if (const CuResult state = module->context->state(); state != kCuSuccess) return state;
  for (const auto& [name, function] : module->found) functions().remove(function);
  modules().remove(handle);
  return kCuSuccess;
}

CuResult get_function(CuModule handle, const char* name, CuFunction* function) {
  const auto module = modules().find(handle);
  if (!module) return kCuInvalidHandle;
  if (const CuResult state = module->context->state(); state != kCuSuccess) return state;
  if (!module->image.functions.count(name)) return kCuNotFound;
  if (const auto found = module->found.find(name); found != module->found.end()) {
    *function = found->second;
    return kCuSuccess;
  }
  const KernelKind& kind = kind_of(name);
  void* const address = dlsym(module->library.get(), name);
  const auto* const size = static_cast<const unsigned*>(dlsym(module->library.get(), kind.size_symbol));
  if (!address || !size) return kCuNotFound;
  if (*size != kind.bytes) {
    std::fprintf(stderr, "software GPU: %s takes %u bytes, not %zu\n", name, *size, kind.bytes);
    return kCuInvalidImage;
  }
  *function = functions().add(std::make_shared<Function>(Function{module, address, &kind}));
  module->found[name] = *function;
  return kCuSuccess;
}

void forget_modules(const Context& context) {
  std::vector<CuModule> lost;
  for (const auto& [handle, module] : modules().all())
    if (module->context.get() == &context) lost.push_back(handle);
  for (const CuModule handle : lost) {
    for (const auto& [name, function] : modules().find(handle)->found) functions().remove(function);
    modules().remove(handle);
  }
}

}  // namespace software_gpu
