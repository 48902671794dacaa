#include "runtime/gloo/meeting/message.h"

#include <cstdint>

namespace cerar::runtime {
namespace {

constexpr std::size_t kLength = 4;

void append_length(std::string& bytes, std::size_t length) {
  for (std::size_t i = 0; i < kLength; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
}

std::size_t length_at(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLength; ++i)
    length |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

bool parse(std::string_view bytes, Message& message) {
  if (bytes.empty()) return false;
  message.kind = static_cast<Message::Kind>(bytes[0]);
  message.fields.clear();
  for (bytes.remove_prefix(1); !bytes.empty();) {
    if (bytes.size() < kLength || bytes.size() - kLength < length_at(bytes)) return false;
    const std::size_t length = length_at(bytes);
    message.fields.emplace_back(bytes.substr(kLength, length));
    bytes.remove_prefix(kLength + length);
  }
  return true;
}

}  // namespace

std::string encode(Message::Kind kind, std::initializer_list<std::string_view> fields) {
  std::string body(1, static_cast<char>(kind));
  for (const auto field : fields) {
    append_length(body, field.size());
    body += field;
  }
  std::string bytes;
  append_length(bytes, body.size());
  return bytes += body;
}

MessageReader::State MessageReader::next(Message& message, std::size_t longest) {
  if (!greeted_) {
    const std::string_view begin = std::string_view(bytes_).substr(0, kGreeting.size());
    if (begin != kGreeting.substr(0, begin.size())) return State::garbage;
    if (begin.size() < kGreeting.size()) return State::incomplete;
    bytes_.erase(0, kGreeting.size());
    greeted_ = true;
  }
  if (bytes_.size() < kLength) return State::incomplete;
  const std::size_t length = length_at(bytes_);
  if (length > longest) return State::garbage;
  if (bytes_.size() - kLength < length) return State::incomplete;
  const bool whole = parse(std::string_view(bytes_).substr(kLength, length), message);
  bytes_.erase(0, kLength + length);
  return whole ? State::complete : State::garbage;
}

}  // namespace cerar::runtime
