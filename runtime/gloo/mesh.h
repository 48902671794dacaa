#pragma once

#include <gloo/context.h>

#include <memory>

#include "runtime/base/deadline.h"
#include "runtime/gloo/meeting/store.h"
#include "runtime/gloo/ring.h"
#include "runtime/gloo/transport.h"

namespace cerar::runtime {

struct Connection {
  std::shared_ptr<gloo::Context> context;  ///< each two ranks, for what is not data
  std::unique_ptr<Ring> ring;
};

/// Throws `system` saying how many file descriptors this rank needs where the process may not have as many.
void require_descriptors(const GlooOptions& options);

/// Connections between ranks that have met, each two of them and those of the ring; returns when every rank
/// has all of its own. The connections belong to the interface or address asked for; by default to the
/// address from which this rank reaches the store's host, where the store has one (tcp); else to loopback
/// where all ranks run on one machine; else to an address that other hosts can reach, see interface.h. Throws
/// `invalid_argument` naming the interface where this machine has none of that name or address, `mismatch`
/// where ranks offer addresses of which one cannot reach the other, and `timeout` or `peer_failed` naming the
/// rank that could not be reached and its address; every rank then says the same, as far as it can be told.
Connection connect_mesh(const GlooOptions& options, Store& store, const Meeting& meeting,
                        const Deadline& deadline);

}  // namespace cerar::runtime
