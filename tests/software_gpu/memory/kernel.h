#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/software_gpu/memory/context.h"

namespace software_gpu {

/// A kernel's host build with its arguments, ready to run on a device.
using Launch = std::function<CuResult(const Context& context)>;

/// Kernels that take one kind of parameter block.
struct KernelKind {
  const char* ending;       ///< of the kernel's name; empty fits all
  const char* size_symbol;  ///< exported by the host library: bytes of the block
  std::size_t bytes;        ///< of the block here
  /// Copies the block, which is what a launch does.
  Launch (*bind)(std::shared_ptr<void> library, void* function, const void* block);
};

/// The kind of a kernel of this name.
const KernelKind& kind_of(const std::string& kernel);

}  // namespace software_gpu
