#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/schedule.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// A contiguous part of the vector that is all-reduced on its own.
struct Piece {
  std::uint64_t begin = 0;  ///< first element
  std::uint64_t rows = 0;   ///< whole rows per class
  std::uint64_t tail =
      0;  ///< elements behind them, fewer than one row of every class; only in the last piece
};

/// Cuts `count` elements into pieces of equal messages, as near to `variant.message_bytes` as whole rows
/// allow.
std::vector<Piece> cut(const Variant& variant, std::uint64_t count);

/// Cuts `count` elements into `pieces` pieces (at least 1) as equal as whole rows allow.
std::vector<Piece> cut_into(const Variant& variant, std::uint64_t count, std::uint64_t pieces);

/// What the kernels of one piece work in; addresses of the host's or of a device.
struct PieceMemory {
  const float* input = nullptr;   ///< the piece of the vector
  float* slots = nullptr;         ///< of the result; may equal `input`
  float* padded = nullptr;        ///< [classes][terms][line], the padded row; used where the piece has a tail
  float* early = nullptr;         ///< early_elements() of plain messages
  void* message = nullptr;        ///< received, combined in place and sent
  DataType type = DataType::f32;  ///< of the caller's vector, which results are rounded to
};

/// Elements of `early` for one class of a piece of `rows` rows, and the padded one; 0 where there is none.
std::uint64_t early_class_elements(const Variant& variant, std::uint64_t rows, bool padded);

/// Parameters of the kernel that does `step`, for accesses of single elements. `divisor`: N for an average, 1
/// for a sum. `early_class`: early_class_elements of the largest piece that works in this memory.
cerar_visit_arguments arguments_of(const Variant& variant, const Piece& piece, const PieceMemory& memory,
                                   const Step& step, float divisor, std::uint64_t early_class);

/// The order in which lanes work, the same on every rank: each takes a piece, or one after the other, and
/// they take turns visit by visit, so that one lane's kernel runs while the others' messages are on the way.
/// Kept from call to call, since a steady call allocates nothing.
class Turns {
 public:
  /// Calls visit(lane, piece, t) for t = 1..visits of every piece.
  template <typename Visit>
  void run(std::size_t lanes, std::size_t pieces, int visits, Visit visit) {
    positions_.clear();
    for (std::size_t lane = 0; lane < lanes; ++lane) positions_.push_back({lane, 1});
    std::size_t next = lanes;
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        Position& at = positions_[lane];
        if (at.piece >= pieces) continue;
        busy = true;
        visit(lane, at.piece, at.visit);
        if (++at.visit > visits) at = {next++, 1};
      }
    }
  }

 private:
  struct Position {
    std::size_t piece;
    int visit;
  };
  std::vector<Position> positions_;  // [lane]
};

}  // namespace cerar::runtime
