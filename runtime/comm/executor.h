#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/error.h"
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
  void* stream = nullptr;  ///< of a device, for vectors in its memory
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
  std::uint64_t launches = 0;  ///< of kernels, on devices
  int lanes = 0;
  bool plain = false;  ///< the transport's own all-reduce, the plan's baseline, did it
  CallClaim claim;
};

/// Runs all-reduces of one plan on one rank. An executor never names a transport.
class Executor {
 public:
  virtual ~Executor() = default;
  /// On hosts, blocks until the result is there; on devices it is there for what is enqueued on the call's
  /// stream later. After an error the executor stays unusable and says so.
  virtual CallReport all_reduce(const Call& call) = 0;

  /// Everything that calls of this count, type and reduction need, done beforehand; every rank calls. The
  /// first such call does it otherwise.
  virtual void prepare(const Call&) {}

  /// From any thread: ends the call under way and makes it and later ones throw `aborted`, "rank 3 <act>."
  virtual void interrupt(std::string_view act) noexcept = 0;

  /// After `interrupt`, with no call under way: tells the other ranks, where `interrupt` did not.
  virtual void give_up() noexcept {}

  /// What has gone wrong since the last call returned, if something has.
  virtual std::optional<Error> failure() { return std::nullopt; }
};

}  // namespace cerar::runtime
