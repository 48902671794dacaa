#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/host/piece.h"
#include "runtime/schedule/step.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// Works through pieces one after the other, with two message buffers: one is received and combined, the
/// other sent.
class Lane {
 public:
  /// `rows`: the most rows of a class in any piece, the padded row included.
  Lane(const Variant& variant, std::uint64_t rows);

  std::uint64_t bytes() const {
    return (buffers_[0].size() + buffers_[1].size() + early_.size()) * sizeof(float);
  }

  /// The message of visit t of a piece.
  std::span<std::byte> message(const Piece& piece, int visit);

  /// Parameters of the kernel that does `step` at visit t of a piece.
  cerar_visit_arguments arguments(const Call& call, const Piece& piece, PaddedRow& padded, const Step& step,
                                  int visit, float divisor);

 private:
  const Shape& shape_;
  std::uint64_t line_;
  std::uint64_t early_class_ = 0;              // elements of one class in early_
  std::array<std::vector<float>, 2> buffers_;  // [visit mod 2]
  std::vector<float> early_;                   // [classes][rows][chains - 1][line], plain messages only
};

}  // namespace cerar::runtime
