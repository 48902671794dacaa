#pragma once

#include "runtime/transport/store/store.h"

namespace cerar::runtime {

/// Values in the memory of rank 0, which serves them over HTTP as long as this object lives: to whoever
/// reaches the port, so it belongs in a network that you trust. `host` is a name or address of rank 0's
/// machine that the others can reach. Throws `system` when the port is taken or the host is not this machine.
std::unique_ptr<Store> serve_tcp_store(const std::string& host, int port);

/// The same store from another rank. Never throws for a server that is not there (yet).
std::unique_ptr<Store> join_tcp_store(const std::string& host, int port);

}  // namespace cerar::runtime
