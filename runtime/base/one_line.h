#pragma once

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

}  // namespace cerar
