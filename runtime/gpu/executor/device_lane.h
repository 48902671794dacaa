#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/comm/executor.h"
#include "runtime/comm/pieces.h"
#include "runtime/gpu/resources.h"
#include "runtime/gpu/transport.h"

namespace cerar::runtime {

/// Bytes of device memory that a lane needs.
struct LaneBytes {
  std::uint64_t message = 0;  ///< of each of two buffers
  std::uint64_t early = 0;
  std::uint64_t copy = 0;    ///< of the piece in f32, where the vector itself cannot be worked in
  std::uint64_t padded = 0;  ///< the padded row of the last piece
};

/// What lets one piece be under way beside others: a stream for kernels, one for messages, and events that
/// join the two. Its memory only grows, since calls under way and graphs hold addresses into it.
class DeviceLane {
 public:
  explicit DeviceLane(DeviceHandle device);

  /// Makes room. What was there stays allocated: calls under way and graphs hold addresses of it, and freeing
  /// may wait for devices whose kernels wait for this rank. So a buffer grows at least by half. Messages are
  /// in memory of the transport.
  void reserve(const LaneBytes& bytes, DeviceTransport& transport);
  bool holds(const LaneBytes& bytes) const;
  std::uint64_t bytes() const;

  /// Waits until what was enqueued is done, as well as a device that still answers can.
  void finish() const noexcept;

  CuStream kernels() const { return kernels_.get(); }
  CuStream messages() const { return messages_.get(); }

  CuAddress message(int visit) const { return message_[visit % 2]; }
  CuAddress early() const { return early_.address(); }
  CuAddress copy() const { return copy_.address(); }
  CuAddress padded() const { return padded_.address(); }

  /// Behind the last kernel; the next message; the end of the lane's part of the call.
  DeviceEvent combined, arrived, finished;

 private:
  DeviceHandle device_;
  DeviceStream kernels_, messages_;
  std::array<CuAddress, 2> message_{};
  std::uint64_t message_bytes_ = 0;      // of each
  std::uint64_t all_message_bytes_ = 0;  // with those that became too small
  DeviceBuffer early_, copy_, padded_;
  std::vector<DeviceBuffer> kept_;
};

}  // namespace cerar::runtime
