#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/deadline.h"
#include "runtime/gloo/meeting/socket.h"

namespace cerar::runtime {

struct Interface {
  std::string name;
  bool up = false, loopback = false;
  std::vector<Endpoint> addresses;  ///< IPv4 first
};

/// What this host knows of its own addresses; tests give another one.
struct Host {
  std::string name;
  std::vector<Interface> interfaces;
  /// The addresses to which the host's name resolves; where there is none, `reason` says why.
  std::function<std::vector<Endpoint>(std::string& reason)> addresses_of_name;
  /// From which messages leave for other networks (AF_INET or AF_INET6).
  std::function<std::optional<Endpoint>(int family)> default_route;
};

Host this_host(const Deadline& deadline);

/// An address of this host, and the interface that has it.
struct Offer {
  Endpoint endpoint;
  std::string interface_name;
};

/// The interface or address that the user named. Throws `invalid_argument` where this host has no such
/// interface or address, or it is down, and lists those that there are.
Offer named_offer(const Host& host, const std::string& name);

/// An address that other hosts can reach: of those that are no loopback and whose interface is up, the one
/// to which the host's name resolves, else that of the default route, else the first, IPv4 before IPv6.
/// Throws `system` saying where the name leads and which interfaces there are.
Offer reachable_offer(const Host& host);

/// Loopback, for ranks of one machine. Throws `system` where it is down.
Offer loopback_offer(const Host& host);

/// The interface of an address, "?" where no interface has it.
Offer offer_of(const Host& host, const Endpoint& endpoint);

/// "lo (127.0.0.1, ::1), eth0 (10.0.0.1), eth1 (down)".
std::string words_of(const std::vector<Interface>& interfaces);

}  // namespace cerar::runtime
