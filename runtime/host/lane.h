#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/comm/executor.h"
#include "runtime/comm/pieces.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/schedule.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// Scratch for the elements that do not fill a row of every class, padded with zeros.
class PaddedRow {
 public:
  PaddedRow(const Variant& variant, const Piece& last);

  void load(const Call& call);
  void store(const Call& call) const;

  /// [classes][terms][line], null where there is no tail.
  float* data() { return tail_ ? elements_.data() : nullptr; }
  std::uint64_t bytes() const { return elements_.size() * sizeof(float); }

 private:
  std::uint64_t first_ = 0, tail_ = 0;
  std::vector<float> elements_;  // [classes][terms][line]
};

/// Works through pieces one after the other, with two message buffers: one is received and combined, the
/// other sent. Of vectors in 16 bits it works on an f32 copy of the piece.
class Lane {
 public:
  /// `rows`: the most rows of a class in any piece, the padded row not counted; `padded`: there is one.
  Lane(const Variant& variant, DataType type, std::uint64_t rows, bool padded);

  std::uint64_t bytes() const;

  void begin(const Call& call, const Piece& piece);
  void end(const Call& call, const Piece& piece) const;

  /// The message of visit t of a piece.
  std::span<std::byte> message(const Piece& piece, int visit);

  /// Parameters of the kernel that does `step` at visit t of the piece begun. `divisor`: N for an average.
  cerar_visit_arguments arguments(const Piece& piece, PaddedRow& padded, const Step& step, int visit,
                                  float divisor);

 private:
  std::uint64_t elements(const Piece& piece) const;  // without the padded row's

  const Variant& variant_;
  DataType type_;
  std::uint64_t line_;
  const float* input_ = nullptr;  // of the piece
  float* slots_ = nullptr;
  std::uint64_t early_class_ = 0;              // elements of one class in early_
  std::array<std::vector<float>, 2> buffers_;  // [visit mod 2], bytes as the wire wants them
  std::vector<float> early_;                   // [classes][rows][chains - 1][line], plain messages only
  std::vector<float> copy_;
};

}  // namespace cerar::runtime
