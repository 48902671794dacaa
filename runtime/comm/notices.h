#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace cerar::runtime {

/// What a rank tells other processes beside the data; gloo/notices.h and mpi/notices.h carry it.
struct Notice {
  enum class Kind : char {
    failed = 'f',   ///< this rank failed; the text says why
    leaving = 'l',  ///< it destroys its communicator; what it sent before still arrives
    waiting = 'w',  ///< it has waited for half of its timeout: it is not the rank that is missing
    ping = 'p',     ///< is the receiver there? The carrier answers
  };
  Kind kind = Kind::waiting;
  int rank = 0;      ///< the sender
  std::string text;  ///< one sentence, at most kLongestNotice bytes
};

inline constexpr std::size_t kLongestNotice = 1000;  // below every eager limit of MPI

/// How long a rank waits for another one's reason when a peer is gone: who fails closes its connections,
/// maybe before its notice is read, and what a rank sent before it left may come after its notice.
inline constexpr std::chrono::milliseconds kReasonTimeout{500};

/// What a rank knows of its peers, and the rule for whom to blame. For transports between processes; all
/// functions may be called from any thread.
///
/// * The reason of a failure is what this rank's user did (`interrupt`); else the first sentence that this
///   rank found or was sent.
/// * A peer that is gone, and for which no reason comes within kReasonTimeout, is to blame: it has left where
///   it said so, and is lost otherwise.
/// * At the end of a wait, those of the awaited ranks that show no sign of life are to blame. If all show
///   one, they may wait for another rank themselves: they get `grace` to name it, and are blamed as late
///   after that.
class Failures {
 public:
  Failures(int rank, int size, std::chrono::milliseconds timeout, std::chrono::milliseconds grace);

  /// Remembers what another rank said.
  void take(const Notice& notice);
  /// This rank's own sentence; false where there was a reason already.
  bool fail(const std::string& reason);
  void interrupt(const std::string& reason);

  bool interrupted() const { return interrupted_; }
  bool failed() const { return failed_; }
  [[noreturn]] void throw_reason() const;
  void throw_if_failed() const {
    if (failed_) throw_reason();
  }

  bool left(int rank) const;
  bool any_left() const { return any_left_; }
  bool all_left() const;  ///< all others
  std::optional<int> left_of(const std::vector<int>& ranks) const;

  /// Signs of life count for one wait.
  void begin_wait();
  void answered(int rank);
  bool all_answered(const std::vector<int>& awaited) const { return silent(awaited).empty(); }
  std::chrono::milliseconds grace() const { return grace_; }

  /// The sentence for a wait that is over; `what` the awaited ranks did not do: "to send a message".
  Error late(const std::vector<int>& awaited, const std::string& what) const;
  /// The sentence for a peer that is gone; `how` is the carrier's word for it.
  Error gone(int peer, const std::string& how) const;

 private:
  std::vector<int> silent(const std::vector<int>& awaited) const;

  const int rank_;
  const std::chrono::milliseconds timeout_, grace_;
  std::atomic<bool> failed_ = false, interrupted_ = false, any_left_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::string interruption_;
  std::optional<std::string> reason_;
  std::vector<bool> left_, answered_;  // [rank]
};

}  // namespace cerar::runtime
