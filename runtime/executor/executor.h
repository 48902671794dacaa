#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

enum class Reduction { sum, average };

/// One all-reduce of `count` elements; `send` may equal `receive` but not overlap it otherwise.
struct Call {
  const void* send = nullptr;
  void* receive = nullptr;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
};

/// Relative rms errors that a plan claims for one call.
struct CallClaim {
  double total = 0;
  double noise = 0;  ///< the part of it that is rounding of messages
};

/// What one call did, counted while it ran.
struct CallReport {
  const Variant* variant = nullptr;  ///< null when nothing had to be done
  std::uint64_t operation = 0;       ///< number of the call on its communicator, from 0
  std::uint64_t scratch_bytes = 0;   ///< memory beyond the caller's vectors
  std::uint64_t sent_bytes = 0;      ///< payload handed to the transport
  std::uint64_t messages = 0;
  int lanes = 0;
  CallClaim claim;
};

/// Runs all-reduces of one plan on one rank. An executor never names a transport.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Blocks until the result is there. After an error the executor stays unusable and says so.
  virtual CallReport all_reduce(const Call& call) = 0;
};

}  // namespace cerar::runtime
