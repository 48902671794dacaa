#include "runtime/gloo/place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/transport/tcp/address.h>

#include <sstream>
#include <utility>

namespace cerar::runtime {

std::string write(const Place& place) {
  const std::string address = place.offer.endpoint.address();
  return fmt::format("{} {} {} {} {}", address.substr(0, address.find('%')), place.offer.interface_name,
                     place.sender, place.receiver, fmt::join(place.mesh, " "));
}

std::optional<Place> parse_place(const std::string& text, int ranks, const Endpoint& own) {
  std::istringstream words(text);
  std::string address;
  Place place;
  place.mesh.resize(static_cast<std::size_t>(ranks));
  words >> address >> place.offer.interface_name >> place.sender >> place.receiver;
  for (int& port : place.mesh) words >> port;
  const auto endpoint = parse_address(address, 0);
  if (!words || !endpoint) return std::nullopt;
  place.offer.endpoint = *endpoint;
  if (own.family() == endpoint->family()) place.offer.endpoint.set_link_of(own);
  return place;
}

int port_of(const std::vector<char>& gloo_address) {
  const gloo::transport::tcp::Address address(gloo_address);
  Endpoint endpoint;
  endpoint.storage = address.getSockaddr();
  return endpoint.port();
}

std::vector<char> gloo_address(const Endpoint& endpoint) {
  return gloo::transport::tcp::Address(endpoint.storage).bytes();
}

bool connects(const Endpoint& mine, const Endpoint& theirs) {
  const auto order = [](const Endpoint& endpoint) {
    const auto& storage = endpoint.storage;
    const bool ipv4 = storage.ss_family == AF_INET;
    const char* bytes =
        ipv4 ? reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr)
             : reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
    // The port as it stands in memory.
    const int port = ipv4 ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                          : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port;
    return std::pair(std::string(bytes, ipv4 ? 4 : 16), port);
  };
  return order(mine) > order(theirs);
}

}  // namespace cerar::runtime
