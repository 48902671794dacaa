#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/gloo/interface.h"

namespace cerar::runtime {

/// Where a rank waits for the others: an address, and a port for each connection.
struct Place {
  Offer offer;
  std::vector<int> mesh;  // [rank]; 0 for its own
  int sender = 0, receiver = 0;

  Endpoint at(int port) const {
    Endpoint endpoint = offer.endpoint;
    endpoint.set_port(port);
    return endpoint;
  }
};

/// The text by which a rank publishes its place.
std::string write(const Place& place);
/// Nothing where the text is of another version. `own` is this rank's end, for link-local addresses.
std::optional<Place> parse_place(const std::string& text, int ranks, const Endpoint& own);

/// Gloo's addresses are bytes of its own.
int port_of(const std::vector<char>& gloo_address);
std::vector<char> gloo_address(const Endpoint& endpoint);

/// Gloo makes the end with the greater address connect, and the other one listen.
bool connects(const Endpoint& mine, const Endpoint& theirs);

}  // namespace cerar::runtime
