#include "runtime/gloo/meeting/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

// How long a name that nobody knows is looked up again: its host may be about to start.
constexpr auto kConnectLimit =
    std::chrono::seconds(3);  // of one attempt: long enough for a lost packet or two
constexpr auto kConnectAgainLimit = std::chrono::milliseconds(250);
constexpr std::chrono::seconds kNameComes{10};

sockaddr_in& ipv4(Endpoint& endpoint) { return reinterpret_cast<sockaddr_in&>(endpoint.storage); }
const sockaddr_in& ipv4(const Endpoint& endpoint) {
  return reinterpret_cast<const sockaddr_in&>(endpoint.storage);
}
sockaddr_in6& ipv6(Endpoint& endpoint) { return reinterpret_cast<sockaddr_in6&>(endpoint.storage); }
const sockaddr_in6& ipv6(const Endpoint& endpoint) {
  return reinterpret_cast<const sockaddr_in6&>(endpoint.storage);
}

Endpoint endpoint_of(const sockaddr* address, socklen_t length) {
  Endpoint endpoint;
  endpoint.length = std::min<socklen_t>(length, sizeof(endpoint.storage));
  std::memcpy(&endpoint.storage, address, endpoint.length);
  return endpoint;
}

// A look-up takes as long as the name servers please, and cannot be called off: so the C library does it in a
// thread of its own, and what it writes to lives on where nobody waits for it any more.
struct Lookup {
  std::string host, port;
  addrinfo hints{};
  gaicb request{};
};

int look_up(const std::string& host, int port, const Deadline& deadline, std::vector<Endpoint>& found) {
  auto lookup = std::make_unique<Lookup>();
  lookup->host = host;
  lookup->port = std::to_string(port);
  lookup->hints.ai_socktype = SOCK_STREAM;
  lookup->request.ar_name = lookup->host.c_str();
  lookup->request.ar_service = lookup->port.c_str();
  lookup->request.ar_request = &lookup->hints;
  gaicb* requests[] = {&lookup->request};
  if (const int failure = ::getaddrinfo_a(GAI_NOWAIT, requests, 1, nullptr); failure != 0) return failure;
  int state = EAI_INPROGRESS;
  while ((state = ::gai_error(&lookup->request)) == EAI_INPROGRESS && !deadline.passed()) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.left()).count();
    const timespec limit{static_cast<time_t>(left / 1000000000), static_cast<long>(left % 1000000000)};
    ::gai_suspend(requests, 1, &limit);
  }
  if (state == EAI_INPROGRESS && ::gai_cancel(&lookup->request) != EAI_CANCELED) {
    static_cast<void>(lookup.release());
    return EAI_AGAIN;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(lookup->request.ar_result, [](addrinfo* first) {
    if (first) ::freeaddrinfo(first);
  });
  if (state != 0) return state == EAI_INPROGRESS ? EAI_AGAIN : state;
  for (const int family : {AF_INET, AF_INET6})
    for (const addrinfo* one = list.get(); one; one = one->ai_next)
      if (one->ai_family == family) found.push_back(endpoint_of(one->ai_addr, one->ai_addrlen));
  return found.empty() ? EAI_NONAME : 0;
}

std::string words_of(int failure) {
  return failure == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(failure);
}

}  // namespace

void Descriptor::close() {
  if (number_ < 0) return;
  ::shutdown(number_, SHUT_RDWR);
  ::close(number_);
  number_ = -1;
}

std::string Endpoint::address() const {
  char text[NI_MAXHOST] = {};
  if (::getnameinfo(get(), length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return text;
}

std::string Endpoint::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", address(), port())
                              : fmt::format("{}:{}", address(), port());
}

int Endpoint::port() const {
  return ntohs(family() == AF_INET6 ? ipv6(*this).sin6_port : ipv4(*this).sin_port);
}

void Endpoint::set_port(int port) {
  (family() == AF_INET6 ? ipv6(*this).sin6_port : ipv4(*this).sin_port) =
      htons(static_cast<std::uint16_t>(port));
}

bool Endpoint::is_loopback() const {
  if (family() == AF_INET) return ntohl(ipv4(*this).sin_addr.s_addr) >> 24 == 127;
  const in6_addr& address = ipv6(*this).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

bool Endpoint::is_link_local() const {
  if (family() == AF_INET) return ntohl(ipv4(*this).sin_addr.s_addr) >> 16 == 0xa9fe;
  const in6_addr& address = ipv6(*this).sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&address);
}

void Endpoint::set_link_of(const Endpoint& own) {
  if (family() == AF_INET6 && is_link_local()) ipv6(*this).sin6_scope_id = ipv6(own).sin6_scope_id;
}

std::optional<Endpoint> parse_address(const std::string& text, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  Endpoint endpoint = endpoint_of(found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  endpoint.set_port(port);
  return endpoint;
}

std::vector<Endpoint> resolve(const std::string& host, int port, const Deadline& deadline) {
  if (const auto address = parse_address(host, port)) return {*address};
  const Deadline name_comes = deadline.at_most(kNameComes);
  for (std::chrono::milliseconds pause(20);; pause = std::min(2 * pause, std::chrono::milliseconds(1000))) {
    std::vector<Endpoint> found;
    const int failure = look_up(host, port, deadline, found);
    if (failure == 0) return found;
    const bool again = failure == EAI_AGAIN || failure == EAI_NONAME || failure == EAI_NODATA;
    const Deadline& limit = failure == EAI_AGAIN ? deadline : name_comes;
    if (!again || limit.passed())
      throw Error(ErrorCode::system,
                  fmt::format("the host name '{}' resolves to no address on this host ({}); check its "
                              "spelling and /etc/hosts, or give an address.",
                              host, words_of(failure)));
    std::this_thread::sleep_for(std::min(pause, limit.left()));
  }
}

std::vector<Endpoint> resolve_once(const std::string& host, const Deadline& deadline, std::string& reason) {
  std::vector<Endpoint> found;
  if (const int failure = look_up(host, 0, deadline, found); failure != 0) reason = words_of(failure);
  return found;
}

Endpoint local_endpoint(int socket) {
  Endpoint endpoint;
  endpoint.length = sizeof(endpoint.storage);
  if (::getsockname(socket, endpoint.get(), &endpoint.length) != 0)
    throw std::system_error(errno, std::generic_category(), "getsockname");
  return endpoint;
}

std::optional<Endpoint> remote_endpoint(int socket) {
  Endpoint endpoint;
  endpoint.length = sizeof(endpoint.storage);
  if (::getpeername(socket, endpoint.get(), &endpoint.length) != 0) return std::nullopt;
  return endpoint;
}

std::pair<Descriptor, int> listen_at(const Endpoint& endpoint) {
  Descriptor socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {Descriptor(), errno};
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (endpoint.family() == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
  if (::bind(socket.get(), endpoint.get(), endpoint.length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return {Descriptor(), errno};
  return {std::move(socket), 0};
}

std::pair<Descriptor, int> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  Descriptor socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {Descriptor(), errno};
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (::connect(socket.get(), endpoint.get(), endpoint.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return {Descriptor(), errno};
    if (!await_ready(socket.get(), POLLOUT, -1, deadline)) return {Descriptor(), ETIMEDOUT};
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {Descriptor(), error};
  }
  // A port that the system hands out itself can be that of the socket: it then talks to itself, and would
  // keep the port from whoever is to listen there.
  if (local_endpoint(socket.get()).text() == endpoint.text()) {
    const linger reset{1, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    return {Descriptor(), ECONNREFUSED};
  }
  return {std::move(socket), 0};
}

Reached connect_to_first(const std::vector<Endpoint>& endpoints, const Deadline& deadline,
                         const Connect& connect) {
  Reached reached;
  for (const Endpoint& endpoint : endpoints) {
    auto [socket, error] = connect(endpoint, deadline.at_most(kConnectLimit));
    if (socket) {
      reached.socket = std::move(socket);
      reached.server = endpoint;
      break;
    }
    reached.errors.push_back(error);
    if (error == EMFILE || error == ENFILE) return reached;
  }
  if (!reached.socket || std::ranges::find(reached.errors, ECONNREFUSED) == reached.errors.end())
    return reached;
  for (std::size_t earlier = 0; earlier < reached.errors.size(); ++earlier) {
    auto [socket, error] = connect(endpoints[earlier], deadline.at_most(kConnectAgainLimit));
    if (!socket) continue;
    reached.socket = std::move(socket);
    reached.server = endpoints[earlier];
    break;
  }
  return reached;
}

bool await_ready(int socket, short events, int waker, const Deadline& deadline) {
  for (;;) {
    pollfd watched[] = {{socket, events, 0}, {waker, POLLIN, 0}};
    const auto left = std::min<long long>(deadline.left().count(), 1000000000);
    const int ready = ::poll(watched, 2, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (deadline.passed()) return false;
  }
}

std::string connect_failure(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "refuses connections: nobody listens there";
    case ETIMEDOUT:
      return "does not answer: check addresses, routes and firewalls";
    default:
      return fmt::format("cannot be reached: {}", std::strerror(error));
  }
}

}  // namespace cerar::runtime
