#include "tests/gpu/bandwidth/kernel_bytes.h"

#include <algorithm>

#include "runtime/plan/wire.h"

namespace cerar::test {
namespace {

using runtime::Role;

// Lines of f32 that are loaded or stored per line of the message, messages themselves left out.
int plain_lines(const runtime::Variant& variant, Role role, const cerar_visit_arguments& a) {
  const int terms = variant.shape.terms;
  switch (role) {
    case Role::encode: {
      const int early = std::max(0, -a.sample - 1);  // symbols between the first one and the samples
      return terms + early + terms;
    }
    case Role::relay:
      return 1;
    case Role::accumulate:
      return 2;
    default:
      return 2 * terms;
  }
}

int differential_lines(const runtime::Variant& variant, Role role, const cerar_visit_arguments& a) {
  const int terms = variant.shape.terms;
  if (role == Role::open) return std::min(3, terms);
  const bool turn = a.phase == 0, last = role == Role::close;
  const bool raises = turn && a.sample > 0, finishes = a.sample >= 2;
  const int components = std::clamp(terms - a.sample - (turn ? 0 : 1), last ? 0 : 1, 3);
  int lines = components + 1;                  // and the sample
  if (raises || finishes || last) lines += 1;  // the sample before
  if (finishes) lines += 2;                    // the component that is complete now
  if (last) lines += 1;                        // the one before as well
  return lines;
}

int vector_lines(const runtime::Variant& variant, Role role, const cerar_visit_arguments& a) {
  switch (variant.messages) {
    case runtime::Messages::sum:
      return role == Role::settle ? 2 : 1;
    case runtime::Messages::plain:
      return plain_lines(variant, role, a);
    case runtime::Messages::differential:
      return differential_lines(variant, role, a);
  }
  return 0;
}

}  // namespace

std::uint64_t kernel_bytes(const runtime::Variant& variant, Role role, const cerar_visit_arguments& a) {
  const auto elements = static_cast<std::uint64_t>(a.elements);
  const auto padded = static_cast<std::uint64_t>(a.tail ? variant.interleave : 0);
  const std::uint64_t messages = (a.received ? 1 : 0) + (a.message ? 1 : 0);
  return messages * runtime::message_bytes(variant, elements, a.tail != nullptr) +
         static_cast<std::uint64_t>(vector_lines(variant, role, a)) * (elements + padded) * sizeof(float);
}

}  // namespace cerar::test
