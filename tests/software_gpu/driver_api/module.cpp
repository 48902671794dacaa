#include "tests/software_gpu/memory/module.h"

#include <algorithm>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/streams/capture.h"

// Modules and kernels.
using namespace software_gpu;

namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024, kMostBlocks = 0x7fffffff, kMostBlocksAcross = 65535;
constexpr int kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;

CuResult find_function(CuFunction handle, std::shared_ptr<Function>* function) {
  *function = functions().find(handle);
  if (!*function) return kCuInvalidHandle;
  return (*function)->module->context->state();
}

}  // namespace

namespace cerar::runtime {

CuResult cuModuleLoadData(CuModule* module, const void* image) {
  SOFTWARE_GPU_ENTER(cuModuleLoadData);
  const std::lock_guard hold(world());
  std::shared_ptr<Context> context;
  SOFTWARE_GPU_TRY(current(&context));
  SOFTWARE_GPU_TRY(forbid_unsafe());
  return load_module(context, image, module);
}

CuResult cuModuleUnload(CuModule module) {
  SOFTWARE_GPU_ENTER(cuModuleUnload);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  SOFTWARE_GPU_TRY(forbid_unsafe());
  return strikes(kSoftwareGpuLeak) ? kCuSuccess : unload_module(module);
}

CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  SOFTWARE_GPU_ENTER(cuModuleGetFunction);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  return get_function(module, name, function);
}

CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction handle, int block_threads,
                                                     std::size_t) {
  SOFTWARE_GPU_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  std::shared_ptr<Function> function;
  SOFTWARE_GPU_TRY(find_function(handle, &function));
  if (block_threads < 1) return kCuInvalidValue;
  const bool fits = block_threads <= static_cast<int>(kMostThreads);
  *blocks = fits ? std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / block_threads) : 0;
  return kCuSuccess;
}

CuResult cuLaunchKernel(CuFunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                        CuStream stream_handle, void** parameters, void** extra) {
  SOFTWARE_GPU_ENTER(cuLaunchKernel);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Function> function;
  SOFTWARE_GPU_TRY(find_stream(stream_handle, &stream));
  SOFTWARE_GPU_TRY(find_function(handle, &function));
  if (function->module->context != stream->context) return kCuInvalidHandle;
  const unsigned long long threads = 1ull * block_x * block_y * block_z;
  // CUDA allows blocks of any size; the kernels work in whole warps.
  if (threads < 1 || threads > kMostThreads || threads % kWarp) return kCuInvalidValue;
  if (grid_x < 1 || grid_x > kMostBlocks || grid_y < 1 || grid_y > kMostBlocksAcross || grid_z < 1 ||
      grid_z > kMostBlocksAcross)
    return kCuInvalidValue;
  if (!parameters || !parameters[0] || extra) return kCuInvalidValue;
  Work work;
  work.urgent = true;
  const auto blocks = static_cast<long long>(grid_x) * grid_y * grid_z;
  work.run = [context = stream->context, blocks, threads,
              launch = function->kind->bind(function->module->library, function->address, parameters[0])] {
    record_launch(blocks, static_cast<long long>(threads));
    return launch(*context);
  };
  return submit(stream, std::move(work));
}

}  // namespace cerar::runtime
