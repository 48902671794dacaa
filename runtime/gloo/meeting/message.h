#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar::runtime {

/// What ranks and the server of a tcp store send each other: a kind and a few fields. Both ends begin with
/// kGreeting, so that whoever speaks something else is recognised by its first bytes.
struct Message {
  enum class Kind : char {
    hello = 'h',    ///< rank -> server: rank, ranks, machine
    refused = 'r',  ///< server -> rank: why, which is final
    later = 'l',    ///< server -> rank: a meeting is over and its server about to end; come again
    go = 'g',       ///< server -> rank: the meeting's id, "1" where all ranks run on one machine
    missing = 'm',  ///< rank -> server, and the answer: who did not come, as a sentence
    set = 's',      ///< rank -> server: key, bytes
    await = 'a',    ///< rank -> server: key; answered by a value once there is one
    cancel = 'c',   ///< rank -> server: answered by no value, unless one is on its way
    value = 'v',    ///< server -> rank: bytes; no field after a cancel
    failed = 'f',   ///< either: the sentence of a rank that gives up; to ranks also "1" for a timeout
    bye = 'b',      ///< rank -> server: needs the store no more
  };
  Kind kind;
  std::vector<std::string> fields;
};

inline constexpr std::string_view kGreeting = "CERARst2";
inline constexpr std::size_t kLongestValue = std::size_t{1} << 20;

/// Length, kind, and each field after its length; lengths are four bytes, the lowest first.
std::string encode(Message::Kind kind, std::initializer_list<std::string_view> fields);

/// Takes bytes as they come and gives whole messages. Holds no more than the longest message.
class MessageReader {
 public:
  enum class State { incomplete, complete, garbage };

  void add(std::string_view bytes) { bytes_ += bytes; }
  /// Garbage: another greeting, a message longer than `longest`, or fields that do not fit into it.
  State next(Message& message, std::size_t longest);
  bool greeted() const { return greeted_; }

 private:
  std::string bytes_;
  bool greeted_ = false;
};

}  // namespace cerar::runtime
