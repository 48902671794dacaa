#include "tests/software_gpu/memory/kernel.h"

#include <cstdio>
#include <cstring>

#include "templates/visit_arguments.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/memory/memory.h"

namespace software_gpu {
namespace {

/// Whether kernels of a context may touch an address: live memory of its device, of a peer's, or managed.
bool reachable(const Context& context, const void* pointer) {
  const auto block = memory::find(reinterpret_cast<CuAddress>(pointer));
  return block && (block->managed || block->device == context.device ||
                   context.peers[static_cast<std::size_t>(block->device)]);
}

struct Pointer {
  const char* name;
  const void* value;  // null: not used
};

CuResult check(const Context& context, std::initializer_list<Pointer> pointers, int vector_width) {
  for (const auto& [name, value] : pointers) {
    if (!value) continue;
    if (!reachable(context, value)) {
      count(&SoftwareGpuCounters::illegal_accesses);
      std::fprintf(stderr,
                   "software GPU %d: a kernel's `%s` (%p) is no live memory that the device reaches\n",
                   context.device, name, value);
      return kCuIllegalAddress;
    }
    const std::size_t alignment = static_cast<std::size_t>(vector_width) * sizeof(float);
    if (vector_width > 1 && reinterpret_cast<std::uintptr_t>(value) % alignment) {
      std::fprintf(stderr, "software GPU %d: a kernel's `%s` (%p) is not aligned for %d elements\n",
                   context.device, name, value, vector_width);
      return kMisalignedAddress;
    }
  }
  return kCuSuccess;
}

Launch bind_visit(std::shared_ptr<void> library, void* function, const void* block) {
  cerar_visit_arguments arguments;
  std::memcpy(&arguments, block, sizeof arguments);
  const auto kernel = reinterpret_cast<void (*)(cerar_visit_arguments)>(function);
  return [library = std::move(library), kernel, arguments](const Context& context) {
    const CuResult checked = check(context,
                                   {{"input", arguments.input},
                                    {"slots", arguments.slots},
                                    {"tail", arguments.tail},
                                    {"early", arguments.early},
                                    {"received", arguments.received},
                                    {"message", arguments.message}},
                                   arguments.vector_width);
    if (checked != kCuSuccess) return checked;
    kernel(arguments);
    return kCuSuccess;
  };
}

Launch bind_conversion(std::shared_ptr<void> library, void* function, const void* block) {
  cerar_convert_arguments arguments;
  std::memcpy(&arguments, block, sizeof arguments);
  const auto kernel = reinterpret_cast<void (*)(cerar_convert_arguments)>(function);
  return [library = std::move(library), kernel, arguments](const Context& context) {
    // Packs of four elements in 16 bits have the alignment of two of f32.
    const CuResult checked = check(context, {{"from", arguments.from}, {"to", arguments.to}},
                                   arguments.vector_width > 1 ? arguments.vector_width / 2 : 1);
    if (checked != kCuSuccess) return checked;
    kernel(arguments);
    return kCuSuccess;
  };
}

// The first ending that fits decides. Another parameter block is another row and another function like
// bind_visit.
constexpr KernelKind kKinds[] = {
    {"_widen", "cerar_convert_arguments_size", sizeof(cerar_convert_arguments), bind_conversion},
    {"_narrow", "cerar_convert_arguments_size", sizeof(cerar_convert_arguments), bind_conversion},
    {"", "cerar_visit_arguments_size", sizeof(cerar_visit_arguments), bind_visit},
};

}  // namespace

const KernelKind& kind_of(const std::string& kernel) {
  const KernelKind* kind = kKinds;
  const auto ends = [&](const std::string& ending) {
    return kernel.size() >= ending.size() &&
           !kernel.compare(kernel.size() - ending.size(), ending.size(), ending);
  };
  while (!ends(kind->ending)) ++kind;
  return *kind;
}

}  // namespace software_gpu
