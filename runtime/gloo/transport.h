#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/host/transport.h"

namespace cerar::runtime {

struct GlooOptions {
  int rank = 0, ranks = 1;
  std::string store;           ///< "file:DIRECTORY" or "tcp:HOST:PORT", see store.h
  std::string interface_name;  ///< a network interface or an address of this machine; empty: see mesh.h
  std::chrono::milliseconds timeout{};          ///< of every wait within a call
  std::chrono::milliseconds meeting_timeout{};  ///< until all ranks are connected
};

/// Ranks that are processes, on one machine or many; Gloo's TCP connections carry the messages. Returns when
/// all ranks are connected, and leaves nothing of this job in the store. An error that any rank finds reaches
/// all others with its sentence, as long as they can be reached. The destructor tells the other ranks that
/// this one leaves; what it sent before still reaches them. Throws `invalid_argument` for a store
/// or interface that cannot be meant, `system` for one that cannot be used, and `timeout` naming the ranks
/// that did not come.
std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options);

}  // namespace cerar::runtime
