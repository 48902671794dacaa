#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/executor.h"
#include "runtime/comm/pieces.h"
#include "runtime/gpu/executor/device_kernels.h"
#include "runtime/gpu/executor/device_lane.h"

namespace cerar::runtime {

/// How calls of one count, type and reduction are done; the same on every rank.
struct CallShape {
  const Variant* variant = nullptr;  ///< null: by the transport's own all-reduce
  std::vector<Piece> pieces;
  std::size_t lanes = 0;
  std::uint64_t most_rows = 0;  ///< of any piece
};

/// Cuts a vector for streams: one piece per lane, so that a call is few, large launches, as long as messages
/// have 128 KiB. Vectors in 16 bits are worked on in f32 copies of the pieces under way: above 64 MiB of them
/// there are up to four pieces to a lane.
CallShape shape_of(const Variant& variant, std::uint64_t count, DataType type);

/// Whether the kernels can work in the vectors of a call themselves: f32, and where messages come in blocks,
/// which only whole warps convert, aligned to 16 bytes.
bool works_in_place(const Variant& variant, const Call& call);

LaneBytes lane_bytes(const CallShape& shape, bool in_place);

/// One lane's share of one call: what is enqueued for a piece on the lane's stream of kernels.
class DevicePiece {
 public:
  DevicePiece(const CallShape& shape, const DeviceKernelTable& kernels, const Call& call, DeviceLane& lane,
              const Piece& piece)
      : shape_(shape), kernels_(kernels), call_(call), lane_(lane), piece_(piece) {}

  /// Copies what the kernels cannot work in; and back. Return the number of kernels launched.
  int begin() const;
  int end() const;

  /// The kernel of one visit. `divisor`: N for an average.
  void run(const Step& step, int visit, float divisor) const;

  std::uint64_t message_bytes() const;

 private:
  /// `role`: widen or narrow; f32 is copied instead. Returns the number of kernels launched.
  int convert(Role role, CuAddress from, CuAddress to, std::uint64_t elements) const;
  CuAddress in_vector(const void* vector, std::uint64_t element) const;
  std::uint64_t elements() const;  // of the piece without its tail

  const CallShape& shape_;
  const DeviceKernelTable& kernels_;
  const Call& call_;
  DeviceLane& lane_;
  const Piece& piece_;
};

}  // namespace cerar::runtime
