#pragma once

#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {

struct HostAndPort {
  std::string name;  ///< the store as the user wrote it
  std::string host;  ///< a name or address of rank 0's machine that the others can reach
  int port = 0;
};

/// Rank 0's end: a server in a thread of its own, as long as this object lives, for whoever reaches the port,
/// so it belongs in a network that you trust. Throws `system` where the host is not this machine or the port
/// is in use.
std::unique_ptr<Store> serve_tcp_store(const HostAndPort& place, int ranks, const Deadline& deadline);

/// Another rank's end. Connects when it meets, as soon as there is a server.
std::unique_ptr<Store> join_tcp_store(const HostAndPort& place, int rank, int ranks);

}  // namespace cerar::runtime
