#include "runtime/api/comm.h"

#include <fmt/format.h>

#include <cstdint>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

void check_pointer(const void* pointer, const char* name) {
  if (!pointer)
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is a null pointer with a count above 0.", name));
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignof(float) != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is {}, which is not a multiple of {}; f32 vectors need that alignment.", name,
                            pointer, alignof(float)));
}

}  // namespace

Call checked_call(const void* send, void* recv, size_t count, cerarDataType_t type, cerarRedOp_t op) {
  if (type != cerarFloat32)
    throw Error(ErrorCode::unsupported,
                fmt::format("data type {} is not supported; use cerarFloat32 (0).", static_cast<int>(type)));
  if (op != cerarSum && op != cerarAverage)
    throw Error(ErrorCode::unsupported,
                fmt::format("operation {} is not supported; use cerarSum (0) or cerarAverage (1).",
                            static_cast<int>(op)));
  const Reduction reduction = op == cerarAverage ? Reduction::average : Reduction::sum;
  if (count == 0) return {.reduction = reduction};
  check_pointer(send, "send");
  check_pointer(recv, "recv");
  if (count > PTRDIFF_MAX / sizeof(float))
    throw Error(ErrorCode::invalid_argument, fmt::format("count is {}, more than memory can hold.", count));
  const auto from = reinterpret_cast<std::uintptr_t>(send), to = reinterpret_cast<std::uintptr_t>(recv);
  const auto bytes = count * sizeof(float);
  if (from != to && from < to + bytes && to < from + bytes)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("send {} and recv {} overlap partly over {} bytes; pass equal or separate buffers.", send,
                    static_cast<const void*>(recv), bytes));
  return {.send = static_cast<const float*>(send),
          .receive = static_cast<float*>(recv),
          .count = count,
          .reduction = reduction};
}

}  // namespace cerar::runtime
