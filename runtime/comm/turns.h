#pragma once

#include <cstddef>
#include <vector>

namespace cerar::runtime {

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
