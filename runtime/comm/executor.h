#pragma once

#include <optional>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/comm/call.h"

namespace cerar::runtime {

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
  virtual void announce_abort() noexcept {}

  /// What has gone wrong since the last call returned, if something has.
  virtual std::optional<Error> failure() { return std::nullopt; }
};

}  // namespace cerar::runtime
