#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/base/deadline.h"
#include "runtime/gloo/meeting/message.h"
#include "runtime/gloo/meeting/socket.h"
#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {

/// Rank 0's side of a tcp store: a thread that serves all connections, none of which it waits for. A
/// connection is a *stranger* until it has said in CERAR's words which rank it is, and then a *member*, at
/// most one for each rank. Strangers are bounded in number, time and memory; whoever sends anything else is
/// dropped. Members that end are noticed at once.
class MeetingServer {
 public:
  static constexpr std::size_t kStrangers = 64;  ///< at most so many

  /// `name` is the store's, for sentences.
  MeetingServer(std::string name, std::vector<Descriptor> listeners, int ranks);
  /// What was said to members still reaches them, for a moment.
  ~MeetingServer();
  MeetingServer(const MeetingServer&) = delete;
  MeetingServer& operator=(const MeetingServer&) = delete;

  // For rank 0, which talks to the server directly; see Store.
  Meeting meet(const Deadline& deadline);
  void set(const std::string& key, std::string_view bytes);
  std::optional<std::string> await(const std::string& key, const Deadline& deadline);
  void wake();
  void fail(const std::string& sentence);

 private:
  using Clock = Deadline::Clock;
  enum class State { gathering, met, ended };

  struct Connection {
    Descriptor socket;
    std::string peer;
    Clock::time_point since;
    MessageReader incoming;
    std::string outgoing;
    int rank = -1;        // of a member
    std::string awaited;  // the key that it waits for
    bool said_bye = false, closing = false;
    bool watches_output = false;
  };
  struct Rank {
    std::string machine, peer;
    int connection = -1;  // its socket while it is there
    bool came = false;
  };

  void serve();
  void send_what_waits();
  template <typename Body>
  void guarded(int socket, Body body);
  void take_event(int socket, unsigned events, Clock::time_point now);
  void accept_all(int listener, Clock::time_point now);
  bool drop_oldest_stranger();
  void drop_old_strangers(Clock::time_point now);
  int wait_ms(Clock::time_point now) const;
  void receive(Connection& connection);
  void take(Connection& connection, const Message& message);
  void take_hello(Connection& connection, const Message& message);
  void send(Connection& connection, const std::string& bytes);
  void end_after(Connection& connection, const std::string& bytes);
  void flush(Connection& connection);
  void drop(int socket);
  void watch(int socket, unsigned events, bool known);
  void listen_again(bool yes);
  void put(const std::string& key, std::string_view bytes);
  void give_up(const std::string& sentence, int except, bool timeout);
  std::vector<int> missing() const;
  std::pair<std::string, std::string> who_is_missing() const;
  void notify();

  const std::string name_;
  const int ranks_count_;
  const std::string machine_;
  std::vector<Descriptor> listeners_;
  Descriptor events_, waker_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  State state_ = State::gathering;
  std::map<int, Connection> connections_;
  std::vector<Rank> ranks_;  // [rank]
  std::map<std::string, std::string> values_;
  std::size_t value_bytes_ = 0;
  std::optional<std::string> failure_;
  std::string oddity_;  // a process that was refused, for the sentence of a timeout
  bool woken_ = false, accepting_ = true, stopping_ = false;
  Clock::time_point end_;  // once it is stopping

  std::thread thread_;
};

}  // namespace cerar::runtime
