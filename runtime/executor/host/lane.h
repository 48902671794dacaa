#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/executor.h"
#include "runtime/plan/plan.h"
#include "runtime/schedule/step.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// A contiguous part of the vector that is all-reduced on its own, and the scratch it needs: two message
/// buffers (one being received or combined, one being sent) and, in the last lane, the padded row of a count
/// that does not divide.
class Lane {
 public:
  /// `rows` rows per class starting at element `begin`; `tail` elements (fewer than one row of every class)
  /// follow.
  Lane(const Variant& variant, std::uint64_t begin, std::uint64_t rows, std::uint64_t tail);

  std::uint64_t scratch_bytes() const;

  /// Copies the tail into the padded row; once per call, before the first visit.
  void load_tail(const Call& call);
  /// Copies the result of the tail out again.
  void store_tail(const Call& call) const;

  /// Message buffer of visit t.
  std::span<std::byte> message(int visit);

  /// Parameters of the kernel that does `step` at visit t.
  cerar_visit_arguments arguments(const Call& call, const Step& step, int visit, float divisor);

 private:
  const Shape& shape_;
  std::uint64_t line_, begin_, rows_, tail_;  // elements, elements, rows, elements
  std::array<std::vector<float>, 2> messages_;
  std::vector<float> padded_;  // [classes][terms][line]
};

/// Cuts `count` elements into at most `limit` lanes of whole rows, none smaller than `min_message_bytes` per
/// message unless there is only one.
std::vector<Lane> make_lanes(const Variant& variant, std::uint64_t count, int limit,
                             std::uint64_t min_message_bytes);

}  // namespace cerar::runtime
