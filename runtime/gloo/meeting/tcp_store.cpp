#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>
#include <thread>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/gloo/meeting/meeting_server.h"
#include "runtime/gloo/meeting/message.h"
#include "runtime/gloo/meeting/socket.h"
#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Message::Kind;

constexpr auto kPortComesFree = 2s;   // another socket may hold it for a moment
constexpr auto kLookUpAgain = 5s;     // a name may lead elsewhere meanwhile
constexpr auto kWriteLimit = 10s;     // for a server that takes nothing
constexpr auto kAnswerLimit = 250ms;  // for what is asked once the deadline has passed

/// The server's host and port belong to this machine.
std::vector<Descriptor> listen_at_all(const HostAndPort& place, const Deadline& deadline) {
  const auto endpoints = resolve(place.host, place.port, deadline);
  const Deadline port_comes_free = deadline.at_most(kPortComesFree);
  for (;;) {
    std::vector<Descriptor> listeners;
    std::vector<std::string> failures;
    bool in_use = false;
    for (const Endpoint& endpoint : endpoints) {
      auto [listener, error] = listen_at(endpoint);
      if (listener) {
        listeners.push_back(std::move(listener));
        continue;
      }
      in_use = in_use || error == EADDRINUSE;
      failures.push_back(fmt::format("{} {}", endpoint.text(),
                                     error == EADDRINUSE      ? "is in use by another process"
                                     : error == EADDRNOTAVAIL ? "is no address of this machine"
                                                              : std::strerror(error)));
    }
    if (!listeners.empty() && !in_use) return listeners;
    if (!in_use || port_comes_free.passed())
      throw Error(ErrorCode::system,
                  fmt::format("rank 0 cannot serve the store {}: {}; give rank 0's own address and a free "
                              "port ('ss -ltnp' lists those in use, another job's among them).",
                              place.name, fmt::join(failures, ", ")));
    std::this_thread::sleep_for(50ms);
  }
}

/// A name of this machine can lead to loopback here and to an address of the network elsewhere, as Debian's
/// /etc/hosts has it: the server is then to be found at both.
std::vector<Descriptor> listeners_for(const HostAndPort& place, const Deadline& deadline) {
  auto listeners = listen_at_all(place, deadline);
  const bool literal = parse_address(place.host, place.port).has_value() ||
                       place.host.starts_with("localhost") || place.host.starts_with("ip6-l");
  const bool loopback_alone = std::all_of(listeners.begin(), listeners.end(), [](const Descriptor& listener) {
    return local_endpoint(listener.get()).is_loopback();
  });
  if (literal || !loopback_alone) return listeners;
  listeners.clear();
  return listen_at_all({place.name, "0.0.0.0", place.port}, deadline);
}

class ServedStore final : public Store {
 public:
  ServedStore(const HostAndPort& place, int ranks, std::vector<Descriptor> listeners)
      : name_(place.name),
        address_(local_endpoint(listeners.front().get()).address()),
        server_(name_, std::move(listeners), ranks) {}

  std::string name() const override { return name_; }
  Meeting meet(const Deadline& deadline) override { return server_.meet(deadline); }
  void set(const std::string& key, std::string_view bytes) override { server_.set(key, bytes); }
  std::optional<std::string> await(const std::string& key, const Deadline& deadline) override {
    return server_.await(key, deadline);
  }
  void wake() override { server_.wake(); }
  void fail(const std::string& sentence) noexcept override {
    try {
      server_.fail(sentence);
    } catch (const std::exception&) {  // without memory to tell, the end of the server says it
    }
  }
  void leave() noexcept override {}
  std::optional<std::string> local_address() const override {
    return address_ == "0.0.0.0" ? "127.0.0.1" : address_;
  }

 private:
  const std::string name_, address_;
  MeetingServer server_;
};

struct ConnectionLost {
  std::string how;
};

class JoinedStore final : public Store {
 public:
  JoinedStore(HostAndPort place, int rank, int ranks)
      : place_(std::move(place)),
        rank_(rank),
        ranks_(ranks),
        waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!waker_) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  std::string name() const override { return place_.name; }

  Meeting meet(const Deadline& deadline) override {
    std::string problem = "was not tried";
    std::minstd_rand random(static_cast<unsigned>(::getpid()));
    std::vector<Endpoint> endpoints = resolve(place_.host, place_.port, deadline);
    auto looked_up = Deadline::Clock::now();
    for (auto pause = 5ms;; pause = std::min(2 * pause, 200ms)) {
      if (Deadline::Clock::now() - looked_up > kLookUpAgain) {
        looked_up = Deadline::Clock::now();
        try {
          endpoints = resolve(place_.host, place_.port, deadline.at_most(1s));
        } catch (const Error&) {  // it had an address before
        }
      }
      try {
        if (connect(endpoints, deadline, problem))
          if (const auto meeting = attend(deadline)) return *meeting;
      } catch (const ConnectionLost& lost) {
        problem = fmt::format("{} {}", server_, lost.how);
      }
      socket_ = Descriptor();
      if (deadline.passed())
        throw Error(ErrorCode::timeout, did_not_come("0", name(), deadline, ": " + problem));
      // Ranks that start together shall not come again together.
      const std::chrono::milliseconds jitter(random() % static_cast<unsigned>(pause.count()));
      std::this_thread::sleep_for(std::min(pause + jitter, deadline.left()));
    }
  }

  void set(const std::string& key, std::string_view bytes) override {
    require_server([&] { send(encode(Kind::set, {key, bytes}), Deadline(kWriteLimit)); });
  }

  std::optional<std::string> await(const std::string& key, const Deadline& deadline) override {
    std::optional<std::string> value;
    require_server([&] {
      if (!key.empty()) {
        if (asked_) {  // in vain; one answer comes in any case, a value or none
          send(encode(Kind::cancel, {}), deadline);
          if (!receive(deadline, -1)) throw ConnectionLost{"has stopped answering"};
        }
        send(encode(Kind::await, {key}), deadline);
        asked_ = true;
      }
      const auto answer = receive(deadline, waker_.get());
      if (!answer) return;
      asked_ = false;
      if (answer->kind == Kind::value && !answer->fields.empty()) value = answer->fields[0];
    });
    std::uint64_t count = 0;
    static_cast<void>(::read(waker_.get(), &count, sizeof(count)));
    return value;
  }

  void wake() override {
    const std::uint64_t one = 1;
    while (::write(waker_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  void fail(const std::string& sentence) noexcept override { say(Kind::failed, sentence); }
  void leave() noexcept override { say(Kind::bye, {}); }

  std::optional<std::string> local_address() const override {
    return socket_ ? std::optional(local_endpoint(socket_.get()).address()) : std::nullopt;
  }

 private:
  /// The first server that answers; `problem` says about each address why there is none.
  bool connect(const std::vector<Endpoint>& endpoints, const Deadline& deadline, std::string& problem) {
    auto reached = connect_to_first(endpoints, deadline);
    if (reached.socket) {
      socket_ = std::move(reached.socket);
      server_ = reached.server.text();
      reader_ = MessageReader();
      return true;
    }
    std::vector<std::string> failures;
    for (std::size_t i = 0; i < reached.errors.size(); ++i) {
      const int error = reached.errors[i];
      if (error == EMFILE || error == ENFILE)
        throw Error(ErrorCode::system,
                    fmt::format("rank {} has no file descriptor left to reach the store {} "
                                "(ulimit -n); raise the limit or close some.",
                                rank_, name()));
      failures.push_back(fmt::format("{} {}", endpoints[i].text(), connect_failure(error)));
    }
    problem = fmt::format("{}", fmt::join(failures, ", "));
    return false;
  }

  /// Nothing where the server wants this rank to come again.
  std::optional<Meeting> attend(const Deadline& deadline) {
    send(std::string(kGreeting) +
             encode(Kind::hello, {std::to_string(rank_), std::to_string(ranks_), this_machine()}),
         deadline);
    auto answer = receive(deadline, -1);
    if (!answer) {
      if (!reader_.greeted()) throw ConnectionLost{"accepts connections but does not answer"};
      send(encode(Kind::missing, {}), Deadline(kAnswerLimit));
      answer = receive(Deadline(kAnswerLimit), -1);
      if (!answer) throw ConnectionLost{"has stopped answering"};
    }
    switch (answer->kind) {
      case Kind::go:
        if (answer->fields.size() == 2) return Meeting{answer->fields[0], answer->fields[1] == "1"};
        break;
      case Kind::missing:
        if (answer->fields.size() == 2 && !answer->fields[0].empty())
          throw Error(ErrorCode::timeout,
                      did_not_come(answer->fields[0], name(), deadline, answer->fields[1]));
        throw ConnectionLost{"has all ranks but does not begin"};
      case Kind::refused:
        if (answer->fields.size() == 1) throw Error(ErrorCode::mismatch, answer->fields[0]);
        break;
      case Kind::later:
        throw ConnectionLost{
            "serves a meeting that is complete without this rank, of another job or of the "
            "communicator before"};
      default:
        break;
    }
    throw ConnectionLost{"answers what this version does not understand"};
  }

  template <typename Body>
  void require_server(Body body) {
    try {
      body();
    } catch (const ConnectionLost& lost) {
      throw Error(
          ErrorCode::peer_failed,
          fmt::format("rank 0 at {} {} before all ranks were connected; check its log.", server_, lost.how));
    }
  }

  void send(const std::string& bytes, const Deadline& deadline) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t put =
          ::send(socket_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put >= 0) {
        done += static_cast<std::size_t>(put);
      } else if (errno == EAGAIN) {
        if (!await_ready(socket_.get(), POLLOUT, -1, deadline)) throw ConnectionLost{"has stopped answering"};
      } else if (errno != EINTR) {
        // Its last word may say why.
        if (errno == EPIPE || errno == ECONNRESET) return;
        throw ConnectionLost{fmt::format("lost the connection ({})", std::strerror(errno))};
      }
    }
  }

  /// Nothing at the deadline, or once `waker` is readable.
  std::optional<Message> receive(const Deadline& deadline, int waker) {
    for (;;) {
      Message message;
      switch (reader_.next(message, 2 * kLongestValue)) {
        case MessageReader::State::complete:
          if (message.kind != Kind::failed) return message;
          if (message.fields.size() != 2)
            throw ConnectionLost{"answers what this version does not understand"};
          throw Error(message.fields[1] == "1" ? ErrorCode::timeout : ErrorCode::peer_failed,
                      message.fields[0]);
        case MessageReader::State::garbage:
          throw Error(ErrorCode::system,
                      fmt::format("what answers at {} is not rank 0 of this version of CERAR; give the host "
                                  "and port of the store {} that rank 0 serves, on every rank.",
                                  server_, name()));
        case MessageReader::State::incomplete:
          break;
      }
      std::array<char, 65536> block;
      const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
      if (got > 0)
        reader_.add({block.data(), static_cast<std::size_t>(got)});
      else if (got == 0)
        throw ConnectionLost{"ended the connection"};
      else if (errno == EAGAIN) {
        if (!await_ready(socket_.get(), POLLIN, waker, deadline)) return std::nullopt;
        if (waker >= 0 && readable(waker) && !readable(socket_.get())) return std::nullopt;
      } else if (errno != EINTR) {
        throw ConnectionLost{fmt::format("lost the connection ({})", std::strerror(errno))};
      }
    }
  }

  static bool readable(int descriptor) { return await_ready(descriptor, POLLIN, -1, Deadline(0ms)); }

  void say(Kind kind, const std::string& text) noexcept {
    try {
      if (socket_) send(kind == Kind::bye ? encode(kind, {}) : encode(kind, {text}), Deadline(kAnswerLimit));
    } catch (...) {  // the end of the connection says it too
    }
  }

  const HostAndPort place_;
  const int rank_, ranks_;
  Descriptor waker_, socket_;
  std::string server_;  // whom socket_ reaches
  MessageReader reader_;
  bool asked_ = false;  // for a value that has not come
};

}  // namespace

std::unique_ptr<Store> serve_tcp_store(const HostAndPort& place, int ranks, const Deadline& deadline) {
  return std::make_unique<ServedStore>(place, ranks, listeners_for(place, deadline));
}

std::unique_ptr<Store> join_tcp_store(const HostAndPort& place, int rank, int ranks) {
  return std::make_unique<JoinedStore>(place, rank, ranks);
}

}  // namespace cerar::runtime
