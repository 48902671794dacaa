#include "runtime/gloo/interface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;

// A look-up of the host's own name should need no name server.
constexpr auto kLookUpLimit = 2s;

std::vector<Interface> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw std::system_error(errno, std::generic_category(), "getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* one = list; one; one = one->ifa_next) {
    auto found = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const Interface& known) { return known.name == one->ifa_name; });
    if (found == interfaces.end()) {
      interfaces.push_back(
          {one->ifa_name, (one->ifa_flags & IFF_UP) != 0, (one->ifa_flags & IFF_LOOPBACK) != 0, {}});
      found = interfaces.end() - 1;
    }
    if (!one->ifa_addr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Endpoint endpoint;
    endpoint.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&endpoint.storage, one->ifa_addr, endpoint.length);
    found->addresses.push_back(endpoint);
  }
  for (Interface& interface : interfaces) {
    std::vector<Endpoint> ordered;  // IPv4 first
    for (const bool wanted : {true, false})
      for (const Endpoint& address : interface.addresses)
        if ((address.family() == AF_INET) == wanted) ordered.push_back(address);
    interface.addresses = std::move(ordered);
  }
  return interfaces;
}

// The system chooses the address when a socket is told where it will send to; nothing is sent. The
// destinations are addresses that documents use as examples.
std::optional<Endpoint> route_of(int family) {
  const auto elsewhere = parse_address(family == AF_INET ? "192.0.2.1" : "2001:db8::1", 9);
  const Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || !elsewhere || ::connect(socket.get(), elsewhere->get(), elsewhere->length) != 0)
    return std::nullopt;
  return local_endpoint(socket.get());
}

bool good_for_others(const Interface& interface, const Endpoint& address) {
  return interface.up && !interface.loopback && !address.is_loopback() && !address.is_link_local();
}

const Interface* owner_of(const Host& host, const Endpoint& address) {
  for (const Interface& interface : host.interfaces)
    for (const Endpoint& own : interface.addresses)
      if (own.address() == address.address()) return &interface;
  return nullptr;
}

[[noreturn]] void refuse(const Host& host, const std::string& name, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("the interface is '{}' but {}; this host has {}.",
                                                       name, why, words_of(host.interfaces)));
}

}  // namespace

Host this_host(const Deadline& deadline) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return {.name = name.data(),
          .interfaces = list_interfaces(),
          .addresses_of_name =
              [host = std::string(name.data()), deadline](std::string& reason) {
                return resolve_once(host, deadline.at_most(kLookUpLimit), reason);
              },
          .default_route = route_of};
}

Offer named_offer(const Host& host, const std::string& name) {
  const auto found = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                  [&](const Interface& interface) { return interface.name == name; });
  if (found != host.interfaces.end()) {
    if (!found->up) refuse(host, name, "it is down");
    if (found->addresses.empty()) refuse(host, name, "it has no address");
    const auto global = std::find_if(found->addresses.begin(), found->addresses.end(),
                                     [](const Endpoint& address) { return !address.is_link_local(); });
    return {global == found->addresses.end() ? found->addresses.front() : *global, name};
  }
  const auto address = parse_address(name, 0);
  if (!address) refuse(host, name, "this host has no interface or address of that name");
  if (const auto [listener, error] = listen_at(*address); !listener)
    refuse(host, name,
           error == EADDRNOTAVAIL ? "this host has no such address"
                                  : fmt::format("it cannot be used ({})", std::strerror(error)));
  return offer_of(host, *address);
}

Offer reachable_offer(const Host& host) {
  std::vector<Offer> offers;
  for (const int family : {AF_INET, AF_INET6})
    for (const Interface& interface : host.interfaces)
      for (const Endpoint& address : interface.addresses)
        if (address.family() == family && good_for_others(interface, address))
          offers.push_back({address, interface.name});
  if (offers.size() == 1) return offers.front();
  const auto offered = [&](const Endpoint& address) -> const Offer* {
    for (const Offer& offer : offers)
      if (offer.endpoint.address() == address.address()) return &offer;
    return nullptr;
  };
  std::string reason;
  const auto resolved = host.addresses_of_name(reason);
  for (const Endpoint& address : resolved)
    if (const Offer* offer = offered(address)) return *offer;
  for (const int family : {AF_INET, AF_INET6}) {
    if (const auto address = host.default_route(family))
      if (const Offer* offer = offered(*address)) return *offer;
    for (const Offer& offer : offers)
      if (offer.endpoint.family() == family) return offer;
  }
  std::vector<std::string> texts;
  for (const Endpoint& address : resolved) texts.push_back(address.address());
  throw Error(ErrorCode::system,
              fmt::format("this host has no address that other hosts can reach: its name '{}' {}, and its "
                          "interfaces are {}; bring one up, or name one that reaches the other ranks.",
                          host.name,
                          texts.empty() ? fmt::format("resolves to no address ({})", reason)
                                        : fmt::format("resolves to {}", fmt::join(texts, ", ")),
                          words_of(host.interfaces)));
}

Offer loopback_offer(const Host& host) {
  for (const int family : {AF_INET, AF_INET6})
    for (const Interface& interface : host.interfaces)
      for (const Endpoint& address : interface.addresses)
        if (interface.up && address.is_loopback() && address.family() == family)
          return {address, interface.name};
  throw Error(ErrorCode::system,
              fmt::format("all ranks run on this host, but its loopback interface is down; bring it up (ip "
                          "link set lo up) or name another interface; this host has {}.",
                          words_of(host.interfaces)));
}

Offer offer_of(const Host& host, const Endpoint& endpoint) {
  const Interface* owner = owner_of(host, endpoint);
  return {endpoint, owner ? owner->name : "?"};
}

std::string words_of(const std::vector<Interface>& interfaces) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> words;
  for (const Interface& interface : interfaces) {
    if (words.size() == kMost) {
      words.push_back("and more");
      break;
    }
    std::vector<std::string> addresses;
    for (const Endpoint& address : interface.addresses) addresses.push_back(address.address());
    if (!interface.up) addresses.assign(1, "down");
    words.push_back(
        fmt::format("{} ({})", interface.name,
                    addresses.empty() ? "no address" : fmt::format("{}", fmt::join(addresses, ", "))));
  }
  return words.empty() ? "no interface" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace cerar::runtime
