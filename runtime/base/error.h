#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cerar {

/// A message as one line for a terminal, a log or a C caller: control characters, which a file or a command
/// line may have brought in, are written as \xHH.
inline std::string one_line(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte != 0x7f) {
      line += character;
    } else {
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    }
  }
  return line;
}

/// What transports carry and people read of a sentence.
inline constexpr std::size_t kLongestSentence = 1000;

/// A sentence of an error: one line, and where a file or a caller brought in more than anyone reads, without
/// its middle. Characters of UTF-8 stay whole.
inline std::string sentence_of(std::string_view text) {
  constexpr std::size_t kEnd = 250, kBeginning = kLongestSentence - kEnd - 50;
  const auto within = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  if (text.size() > 2 * kLongestSentence)  // as much as can be left of it, before it is written out
    return sentence_of(std::string(text.substr(0, kBeginning)) + std::string(kLongestSentence, ' ') +
                       std::string(text.substr(text.size() - kEnd)));
  std::string line = one_line(text);
  if (line.size() <= kLongestSentence) return line;
  std::size_t first = kBeginning, last = line.size() - kEnd;
  while (first > 0 && within(line[first])) --first;
  while (last < line.size() && within(line[last])) ++last;
  return line.substr(0, first) + " [...] " + line.substr(last);
}

/// What kind of thing went wrong; the C API maps each to one `cerarResult_t`.
enum class ErrorCode {
  invalid_argument,  ///< the caller passed something that no plan could serve
  invalid_plan,      ///< a plan, topology or kernel file is malformed, altered or does not fit
  unsupported,       ///< well-formed, but not offered by this build or plan
  mismatch,          ///< ranks disagree (count, type, operation, plan)
  timeout,           ///< a peer did not answer in time
  peer_failed,       ///< another rank reported an error
  system,            ///< the operating system refused (files, memory, dlopen)
  internal,          ///< a defect in CERAR itself
  aborted,           ///< this rank itself ended the communicator
};

/// The only exception type that crosses a layer. `what()` is one sentence that names the thing, the
/// offending value and what to do about it.
class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& sentence)
      : std::runtime_error(sentence_of(sentence)), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace cerar
