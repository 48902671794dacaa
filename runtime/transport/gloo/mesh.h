#pragma once

#include <gloo/rendezvous/context.h>

#include <functional>
#include <memory>

#include "runtime/transport/gloo/gloo_transport.h"
#include "runtime/transport/gloo/ring.h"
#include "runtime/transport/store/rendezvous.h"
#include "runtime/transport/store/store.h"

namespace cerar::runtime {

struct Connection {
  std::shared_ptr<gloo::rendezvous::Context> context;  ///< each two ranks, for what is not data
  std::unique_ptr<Ring> ring;
  std::function<void()> clean_up;  ///< removes from the store what this rank told of itself
};

/// Connections between ranks that have met, each two of them and those of the ring. The connections belong to
/// the interface or address asked for; by default to the address from which this rank reaches the store's
/// host, where the store has one (tcp); else to loopback where all ranks run on one machine; else to the
/// address of this host's name. Throws `invalid_argument` naming the interface where this machine has none of
/// that name or address, `system` where the host's name has no address, and `peer_failed` when connecting
/// fails. The store must outlive the result's clean_up.
Connection connect_mesh(const GlooOptions& options, Store& store, const Meeting& meeting);

}  // namespace cerar::runtime
