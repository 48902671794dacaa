#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/call.h"

namespace cerar::runtime {

/// Messages between ring neighbours: each rank sends to rank + 1 and receives from rank - 1. A lane is a
/// first-in, first-out stream with at most one send and one receive under way; over all lanes, a rank posts
/// and awaits receives in the order in which its neighbour sends, and awaits the send of a lane after the
/// receive that comes before it there, which lets a transport carry all lanes over one connection. One thread
/// per rank uses a transport at a time; `interrupt` is for any other. Waiting functions throw `timeout`
/// naming the peer, or `peer_failed` with the first reason that a rank gave.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Called by every rank before data moves: the descriptions of all ranks, [rank]. A `timeout` names the
  /// ranks that did not come.
  virtual std::vector<CallDescription> exchange(const CallDescription& mine) = 0;

  /// The buffer belongs to the transport until wait_received / wait_sent of the lane returns.
  virtual void post_receive(int lane, std::span<std::byte> buffer) = 0;
  virtual void wait_received(int lane) = 0;
  virtual void post_send(int lane, std::span<const std::byte> message) = 0;
  virtual void wait_sent(int lane) = 0;

  /// Makes every waiting and later call of all ranks fail with `reason`, and takes this rank's buffers back:
  /// once it returns, nothing touches them unless holds_buffers() says so. The first reason counts.
  virtual void abort(const std::string& reason) noexcept = 0;

  /// From any thread: makes this rank's waiting and later calls fail with `reason`. Tells nobody, which is
  /// for `abort`.
  virtual void interrupt(const std::string& reason) noexcept = 0;

  /// After an abort: some buffer could not be taken back, and may be read or written at any time. They must
  /// then stay allocated for good.
  virtual bool holds_buffers() const noexcept { return false; }
};

}  // namespace cerar::runtime
