#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/deadline.h"

namespace cerar::runtime {

struct Meeting {
  std::string id;            ///< fresh for each meeting
  bool one_machine = false;  ///< all ranks run on one machine and share its loopback interface
};

/// Where the ranks of a job find each other: they meet, and then tell each other a few small values. Keys
/// consist of letters, digits, '.', '-' and '_'. One thread uses a store; any may wake it.
class Store {
 public:
  virtual ~Store() = default;

  /// As the user wrote it, "file:/shared/job".
  virtual std::string name() const = 0;

  /// Returns when all ranks have come, whatever a dead job left behind. Throws `timeout` naming the ranks
  /// that did not come, `mismatch` where rank 0 began a meeting of another number of ranks, and `system`
  /// saying what cannot be reached, read or written, and why.
  virtual Meeting meet(const Deadline& deadline) = 0;

  /// For this meeting, whole or not at all.
  virtual void set(const std::string& key, std::string_view bytes) = 0;
  /// The value of a key once a rank has set it; nothing at the deadline, or when `wake` was called. An empty
  /// key has no value ever. Throws `peer_failed` with the sentence of a rank that gives up meanwhile.
  virtual std::optional<std::string> await(const std::string& key, const Deadline& deadline) = 0;
  /// From any thread: ends the await that is under way, or the next one.
  virtual void wake() = 0;

  /// Ends every other rank's `await` with this sentence.
  virtual void fail(const std::string& sentence) noexcept = 0;
  /// This rank needs the store no more, and all others have what it set.
  virtual void leave() noexcept = 0;

  /// The address from which this rank reaches the store's host, where the store has one.
  virtual std::optional<std::string> local_address() const { return std::nullopt; }
};

/// "file:DIRECTORY", "tcp:HOST:PORT" or "tcp://HOST:PORT", which rank 0 serves; an IPv6 address is written in
/// brackets. Throws `invalid_argument` for any other text, and `system` where the store cannot be made.
std::unique_ptr<Store> open_store(const std::string& text, int rank, int ranks, const Deadline& deadline);

/// "rank(s) 2, 5 did not come to the store file:/shared/job within 300000 ms{}; start them ..."; `detail`
/// goes where {} stands.
std::string did_not_come(const std::string& ranks, const std::string& store, const Deadline& deadline,
                         const std::string& detail = {});

/// Fresh 32 hexadecimal digits, which no other process has.
std::string fresh_id();

/// Processes with the same word here reach each other over loopback.
std::string this_machine();

/// A directory that all ranks see, made where it is missing.
std::unique_ptr<Store> make_file_store(const std::filesystem::path& directory, int rank, int ranks);

struct HostAndPort {
  std::string name;  ///< the store as the user wrote it
  std::string host;  ///< a name or address of rank 0's machine that the others can reach
  int port = 0;
};

/// Rank 0's end: a server in a thread of its own, as long as this object lives, for whoever reaches the port,
/// so it belongs in a network that you trust. Throws `system` where the host is not this machine or the port
/// is in use.
std::unique_ptr<Store> serve_tcp_store(const HostAndPort& place, int ranks, const Deadline& deadline);

/// Another rank's end. Connects when it meets, as soon as there is a server.
std::unique_ptr<Store> join_tcp_store(const HostAndPort& place, int rank, int ranks);

}  // namespace cerar::runtime
