#pragma once

#include "tests/software_gpu/memory/image.h"
#include "tests/software_gpu/memory/kernel.h"

namespace software_gpu {

struct Module {
  std::shared_ptr<Context> context;
  Image image;
  std::shared_ptr<void> library;  ///< host build of the same kernels
  std::map<std::string, CuFunction> found;
};

struct Function {
  std::shared_ptr<Module> module;
  void* address;
  const KernelKind* kind;
};

Handles<CuModule, Module>& modules();
Handles<CuFunction, Function>& functions();

/// See software_gpu_use.
int use_plan(const char* directory);
void forget_plans();

// With world() held.
CuResult load_module(const std::shared_ptr<Context>& context, const void* image, CuModule* handle);
CuResult unload_module(CuModule handle);
CuResult get_function(CuModule handle, const char* name, CuFunction* function);
void forget_modules(const Context& context);

}  // namespace software_gpu
