#include "tests/gpu/bandwidth/kernel_bytes.h"

#include "runtime/plan/schedule.h"
#include "runtime/plan/wire.h"

namespace cerar::test {

std::uint64_t kernel_bytes(const runtime::Variant& variant, const runtime::Step& step,
                           const cerar_visit_arguments& a) {
  const auto elements = static_cast<std::uint64_t>(a.elements);
  const auto padded = static_cast<std::uint64_t>(a.tail ? variant.interleave : 0);
  const std::uint64_t messages = (a.received ? 1 : 0) + (a.message ? 1 : 0);
  const auto lines = static_cast<std::uint64_t>(runtime::vector_lines(step, variant.shape));
  return messages * runtime::message_bytes(variant, elements, a.tail != nullptr) +
         lines * (elements + padded) * sizeof(float);
}

}  // namespace cerar::test
