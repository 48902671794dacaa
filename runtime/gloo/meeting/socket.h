#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/deadline.h"

namespace cerar::runtime {

/// An open file descriptor, closed with its owner. A socket is shut down first: a child that the application
/// has forked meanwhile holds a copy, which must not keep the connection or the port alive.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();
  /// The caller closes it from now on, which shuts nothing down.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// An IPv4 or IPv6 address with a port.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  std::string address() const;  ///< "10.0.0.1", "::1", "fe80::1%eth0"
  std::string text() const;     ///< "10.0.0.1:29500", "[::1]:29500"
  int port() const;
  void set_port(int port);
  bool is_loopback() const;
  bool is_link_local() const;
  /// A link-local IPv6 address of the same link as `own`, whose interface has another number elsewhere.
  void set_link_of(const Endpoint& own);
};

/// Nothing where the text is no IPv4 or IPv6 address.
std::optional<Endpoint> parse_address(const std::string& text, int port);

/// All addresses of a name or address, IPv4 first, so that ranks which have both choose alike. Throws
/// `system` with the name and the reason where it has none, also when the deadline comes first; a resolver
/// that has no answer yet, and a name that is not known yet, are asked again for a while.
std::vector<Endpoint> resolve(const std::string& host, int port, const Deadline& deadline);

/// The same, asked once; on failure no address, and `reason` in the resolver's words.
std::vector<Endpoint> resolve_once(const std::string& host, const Deadline& deadline, std::string& reason);

Endpoint local_endpoint(int socket);
std::optional<Endpoint> remote_endpoint(int socket);

/// A listening socket, or the system's error number.
std::pair<Descriptor, int> listen_at(const Endpoint& endpoint);

/// A connected socket that does not block, or the system's error number: ETIMEDOUT at the deadline,
/// ECONNREFUSED also where the system connected the socket to itself.
std::pair<Descriptor, int> connect_to(const Endpoint& endpoint, const Deadline& deadline);

using Connect = std::function<std::pair<Descriptor, int>(const Endpoint&, const Deadline&)>;

struct Reached {
  Descriptor socket;        ///< none where no endpoint could be reached
  Endpoint server;          ///< the one that was reached
  std::vector<int> errors;  ///< of those before it; ends early with EMFILE or ENFILE
};

/// The first of a server's endpoints that answers. A server may begin to listen between two attempts, at its
/// earlier endpoints first, and all ranks shall come to the first one that it has, since their data goes by
/// that address: so after a refusal the earlier ones are tried once more.
Reached connect_to_first(const std::vector<Endpoint>& endpoints, const Deadline& deadline,
                         const Connect& connect = connect_to);

/// Waits until `socket` is ready for `events` (POLLIN, POLLOUT) or `waker` is readable; false at the
/// deadline.
bool await_ready(int socket, short events, int waker, const Deadline& deadline);

/// Words for what connecting ended with: "refuses connections: nobody listens there".
std::string connect_failure(int error);

}  // namespace cerar::runtime
