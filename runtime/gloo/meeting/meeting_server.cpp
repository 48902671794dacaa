#include "runtime/gloo/meeting/meeting_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "runtime/base/error.h"
#include "runtime/base/thread.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kStrangerLimit = 10s;  // to say who it is, or to take what it was told and go
constexpr std::size_t kLongestHello = 1024;
constexpr std::size_t kAllValues = std::size_t{256} << 20;
constexpr auto kFarewell = 250ms;

int number(const std::string& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

Descriptor require(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return Descriptor(descriptor);
}

void ring(const Descriptor& waker) {
  const std::uint64_t one = 1;
  while (::write(waker.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

}  // namespace

MeetingServer::MeetingServer(std::string name, std::vector<Descriptor> listeners, int ranks)
    : name_(std::move(name)),
      ranks_count_(ranks),
      machine_(this_machine()),
      listeners_(std::move(listeners)),
      events_(require(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      waker_(require(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      ranks_(static_cast<std::size_t>(ranks)) {
  for (const Descriptor& listener : listeners_) watch(listener.get(), EPOLLIN, false);
  watch(waker_.get(), EPOLLIN, false);
  thread_ = start_thread("in which ranks meet", [this] { serve(); });
}

MeetingServer::~MeetingServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    // After a failure its sentence must arrive, which closing at once could prevent.
    end_ = Clock::now() + (failure_ ? kFarewell : 0ms);
  }
  notify();
  thread_.join();
}

Meeting MeetingServer::meet(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline.end(), [&] { return missing().empty(); })) {
    const auto [ranks, detail] = who_is_missing();
    const std::string sentence = did_not_come(ranks, name_, deadline, detail);
    state_ = State::ended;
    give_up(sentence, -1, true);
    lock.unlock();
    notify();
    throw Error(ErrorCode::timeout, sentence);
  }
  state_ = State::met;
  const bool one_machine = std::all_of(ranks_.begin() + 1, ranks_.end(),
                                       [&](const Rank& rank) { return rank.machine == machine_; });
  const Meeting meeting{fresh_id(), one_machine};
  for (auto& [socket, connection] : connections_)
    if (connection.rank >= 0)
      connection.outgoing += encode(Message::Kind::go, {meeting.id, one_machine ? "1" : "0"});
  lock.unlock();
  notify();
  return meeting;
}

void MeetingServer::set(const std::string& key, std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    put(key, bytes);
  }
  notify();
}

std::optional<std::string> MeetingServer::await(const std::string& key, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  auto found = values_.end();
  changed_.wait_until(lock, deadline.end(), [&] {
    found = values_.find(key);
    return failure_ || found != values_.end() || woken_;
  });
  woken_ = false;
  if (failure_) throw Error(ErrorCode::peer_failed, *failure_);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void MeetingServer::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void MeetingServer::fail(const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    give_up(sentence, -1, false);
  }
  notify();
}

void MeetingServer::notify() { ring(waker_); }

void MeetingServer::serve() {
  std::array<epoll_event, 64> events;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    if (stopping_) {
      const bool nobody = std::none_of(connections_.begin(), connections_.end(),
                                       [](const auto& one) { return one.second.rank >= 0; });
      if (nobody || now >= end_) return;
    }
    drop_old_strangers(now);
    const int limit = wait_ms(now);
    lock.unlock();
    const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), limit);
    lock.lock();
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      guarded(event.data.fd, [&] { take_event(event.data.fd, event.events, Clock::now()); });
    }
    send_what_waits();
  }
}

// What was put there for others, by rank 0 or by one of those that were heard. Again and again, since one
// that is found lost while it is told is told to the others in turn.
void MeetingServer::send_what_waits() {
  for (;;) {
    std::vector<int> sockets;
    for (const auto& [socket, connection] : connections_)
      if (!connection.outgoing.empty() && !connection.watches_output) sockets.push_back(socket);
    if (sockets.empty()) return;
    for (const int socket : sockets)
      guarded(socket, [&] {
        const auto found = connections_.find(socket);
        if (found != connections_.end()) flush(found->second);
      });
  }
}

// Memory that is exhausted costs a connection, not the process.
template <typename Body>
void MeetingServer::guarded(int socket, Body body) {
  try {
    body();
  } catch (const std::exception&) {
    try {
      drop(socket);
    } catch (const std::exception&) {
    }
  }
}

int MeetingServer::wait_ms(Clock::time_point now) const {
  if (stopping_) return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end_ - now).count());
  if (!accepting_) return 100;
  const bool strangers = std::any_of(connections_.begin(), connections_.end(),
                                     [](const auto& one) { return one.second.rank < 0; });
  return strangers ? 1000 : -1;
}

void MeetingServer::take_event(int socket, unsigned events, Clock::time_point now) {
  if (socket == waker_.get()) {
    std::uint64_t count = 0;
    static_cast<void>(::read(socket, &count, sizeof(count)));
    return;
  }
  for (const Descriptor& listener : listeners_)
    if (socket == listener.get()) return accept_all(socket, now);
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) return receive(found->second);
  flush(found->second);
}

void MeetingServer::accept_all(int listener, Clock::time_point now) {
  for (;;) {
    Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptor or memory left: room is made, or others end theirs before it is tried again.
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted && !drop_oldest_stranger()) listen_again(false);
      return;
    }
    const auto strangers = std::count_if(connections_.begin(), connections_.end(),
                                         [](const auto& one) { return one.second.rank < 0; });
    if (static_cast<std::size_t>(strangers) >= kStrangers) drop_oldest_stranger();
    const int number = socket.get();
    const auto peer = remote_endpoint(number);
    Connection connection;
    connection.peer = peer ? peer->text() : "an address that is gone";
    connection.since = now;
    connection.socket = std::move(socket);
    connection.outgoing = kGreeting;
    watch(number, EPOLLIN, false);
    connections_.insert_or_assign(number, std::move(connection));
  }
}

bool MeetingServer::drop_oldest_stranger() {
  auto oldest = connections_.end();
  for (auto one = connections_.begin(); one != connections_.end(); ++one)
    if (one->second.rank < 0 && (oldest == connections_.end() || one->second.since < oldest->second.since))
      oldest = one;
  if (oldest == connections_.end()) return false;
  drop(oldest->first);
  return true;
}

void MeetingServer::drop_old_strangers(Clock::time_point now) {
  if (!accepting_) listen_again(true);
  std::vector<int> old;
  for (const auto& [socket, connection] : connections_)
    if (connection.rank < 0 && connection.since + kStrangerLimit < now) old.push_back(socket);
  for (const int socket : old) drop(socket);
}

void MeetingServer::listen_again(bool yes) {
  accepting_ = yes;
  for (const Descriptor& listener : listeners_) watch(listener.get(), yes ? EPOLLIN : 0u, true);
}

void MeetingServer::watch(int socket, unsigned events, bool known) {
  epoll_event event{};
  event.events = events;
  event.data.fd = socket;
  if (::epoll_ctl(events_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) != 0 && !known)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

// Reads once: the loop comes back to what is left, after the others have had their turn.
void MeetingServer::receive(Connection& connection) {
  std::array<char, 65536> block;
  const int socket = connection.socket.get();
  const ssize_t got = ::recv(socket, block.data(), block.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(socket);
  if (connection.closing) return;
  connection.incoming.add({block.data(), static_cast<std::size_t>(got)});
  for (;;) {
    Message message;
    const auto state = connection.incoming.next(
        message, connection.rank < 0 ? kLongestHello : kLongestValue + kLongestHello);
    if (state == MessageReader::State::incomplete) return;
    if (state == MessageReader::State::garbage) return drop(socket);
    take(connection, message);
    if (!connections_.contains(socket) || connection.closing) return;
  }
}

void MeetingServer::take(Connection& connection, const Message& message) {
  using Kind = Message::Kind;
  const auto& fields = message.fields;
  if (connection.rank < 0) {
    if (message.kind == Kind::hello && fields.size() == 3) return take_hello(connection, message);
  } else if (message.kind == Kind::set && fields.size() == 2) {
    return put(fields[0], fields[1]);
  } else if (message.kind == Kind::await && fields.size() == 1) {
    const auto found = values_.find(fields[0]);
    if (found == values_.end())
      connection.awaited = fields[0];
    else
      send(connection, encode(Kind::value, {found->second}));
    return;
  } else if (message.kind == Kind::cancel) {
    if (!connection.awaited.empty()) send(connection, encode(Kind::value, {}));
    connection.awaited.clear();
    return;
  } else if (message.kind == Kind::missing) {
    const auto [ranks, detail] = who_is_missing();
    return send(connection, encode(Kind::missing, {ranks, detail}));
  } else if (message.kind == Kind::failed && fields.size() == 1) {
    connection.said_bye = true;
    return give_up(fields[0], connection.rank, false);
  } else if (message.kind == Kind::bye) {
    connection.said_bye = true;
    return;
  }
  drop(connection.socket.get());
}

void MeetingServer::take_hello(Connection& connection, const Message& message) {
  const int rank = number(message.fields[0]), ranks = number(message.fields[1]);
  if (state_ == State::met) return end_after(connection, encode(Message::Kind::later, {}));
  if (state_ == State::ended)
    return end_after(connection, encode(Message::Kind::failed, {failure_.value_or(""), "1"}));
  if (ranks != ranks_count_) {
    oddity_ = fmt::format("; a rank {} of {} ranks came there from {}", rank, ranks, connection.peer);
    return end_after(
        connection,
        encode(Message::Kind::refused,
               {fmt::format("rank {} came to the store {} for {} ranks, but its rank 0 began a meeting of {} "
                            "ranks; pass the same number of ranks everywhere, and give each job a port of "
                            "its own.",
                            rank, name_, ranks, ranks_count_)}));
  }
  if (rank < 1 || rank >= ranks_count_) return drop(connection.socket.get());
  Rank& member = ranks_[static_cast<std::size_t>(rank)];
  if (member.connection >= 0) {
    oddity_ = fmt::format("; a second rank {} came there from {}", rank, connection.peer);
    return end_after(
        connection,
        encode(Message::Kind::refused,
               {fmt::format("a rank {} has come to the store {} already, from {}, and another job may use "
                            "it; give each process a rank of its own, and each job a port of its own.",
                            rank, name_, member.peer)}));
  }
  connection.rank = rank;
  member = {message.fields[2], connection.peer, connection.socket.get(), true};
  if (missing().empty()) changed_.notify_all();
}

void MeetingServer::send(Connection& connection, const std::string& bytes) { connection.outgoing += bytes; }

void MeetingServer::end_after(Connection& connection, const std::string& bytes) {
  send(connection, bytes);
  connection.closing = true;
  connection.since = Clock::now();
}

void MeetingServer::flush(Connection& connection) {
  const int socket = connection.socket.get();
  while (!connection.outgoing.empty()) {
    const ssize_t put =
        ::send(socket, connection.outgoing.data(), connection.outgoing.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put < 0) return drop(socket);
    connection.outgoing.erase(0, static_cast<std::size_t>(put));
  }
  const bool output = !connection.outgoing.empty();
  if (!output && connection.closing) ::shutdown(socket, SHUT_WR);
  // Who does not take what it was told is not listened to meanwhile: so what waits for it is bounded.
  if (output != connection.watches_output) watch(socket, output ? EPOLLOUT : EPOLLIN, true);
  connection.watches_output = output;
}

void MeetingServer::drop(int socket) {
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  const int rank = found->second.rank;
  const bool said_bye = found->second.said_bye;
  connections_.erase(found);
  if (rank < 0) return;
  Rank& member = ranks_[static_cast<std::size_t>(rank)];
  member.connection = -1;
  if (state_ == State::met && !said_bye && !stopping_)
    give_up(fmt::format("rank {} at {} ended, or lost its connection to the store {}, before all ranks were "
                        "connected; check its log.",
                        rank, member.peer, name_),
            rank, false);
}

void MeetingServer::put(const std::string& key, std::string_view bytes) {
  auto& value = values_[key];
  if (value_bytes_ + bytes.size() > kAllValues) return;  // members of one job do not come near it
  value_bytes_ += bytes.size();
  value = bytes;
  for (auto& [socket, connection] : connections_) {
    if (connection.awaited != key || connection.rank < 0) continue;
    connection.awaited.clear();
    send(connection, encode(Message::Kind::value, {value}));
  }
  changed_.notify_all();
}

void MeetingServer::give_up(const std::string& sentence, int except, bool timeout) {
  if (failure_) return;
  failure_ = sentence;
  for (auto& [socket, connection] : connections_)
    if (connection.rank >= 0 && connection.rank != except)
      send(connection, encode(Message::Kind::failed, {sentence, timeout ? "1" : "0"}));
  changed_.notify_all();
}

std::vector<int> MeetingServer::missing() const {
  std::vector<int> missing;
  for (int rank = 1; rank < ranks_count_; ++rank)
    if (ranks_[static_cast<std::size_t>(rank)].connection < 0) missing.push_back(rank);
  return missing;
}

// The ranks, and what is known beside. Some may have waited as long as they would, and left: those that never
// came are to blame.
std::pair<std::string, std::string> MeetingServer::who_is_missing() const {
  std::vector<int> blamed = missing(), never = blamed;
  std::erase_if(never, [&](int rank) { return ranks_[static_cast<std::size_t>(rank)].came; });
  std::string detail = oddity_;
  if (never.empty()) {
    for (const int rank : blamed)
      detail +=
          fmt::format("; rank {} came from {} and left", rank, ranks_[static_cast<std::size_t>(rank)].peer);
  } else {
    blamed = never;
  }
  return {fmt::format("{}", fmt::join(blamed, ", ")), detail};
}

}  // namespace cerar::runtime
